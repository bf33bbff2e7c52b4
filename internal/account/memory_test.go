package account_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
)

var errAway = errors.New("the database is away")

// memory implements all Stores in memory, counts look-ups and can be away.
type memory struct {
	mu       sync.Mutex
	away     bool
	lookups  int
	accounts []account.Account
	keys     map[account.Hash]account.Key
	imported []account.Hash
	listed   int // the number of reads of the imported keys
	setups   map[account.Hash]time.Time
	changes  []account.Change
	cut      int64 // changes up to here are not in the feed any more
}

func newMemory() *memory {
	return &memory{keys: map[account.Hash]account.Key{}, setups: map[account.Hash]time.Time{}}
}

// stores returns the stores of a service.
func (m *memory) stores() account.Stores {
	return account.Stores{Lookups: m, Accounts: m, Keys: m, Setup: m}
}

// enter locks the store, and fails while it is away.
func (m *memory) enter() (leave func(), err error) {
	m.mu.Lock()
	if m.away {
		m.mu.Unlock()
		return func() {}, errAway
	}
	return m.mu.Unlock, nil
}

func (m *memory) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *memory) looked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookups
}

func (m *memory) changed(kind account.ChangeKind, id string) {
	m.changes = append(m.changes, account.Change{Seq: int64(len(m.changes)) + 1, Kind: kind, ID: id})
}

func (m *memory) KeyByHash(_ context.Context, hash account.Hash) (account.Account, account.Key, error) {
	m.set(func() { m.lookups++ })
	leave, err := m.enter()
	defer leave()
	k, ok := m.keys[hash]
	if err == nil && !ok {
		err = account.ErrNotFound
	}
	if err != nil {
		return account.Account{}, account.Key{}, err
	}
	i := slices.IndexFunc(m.accounts, func(a account.Account) bool { return a.ID == k.AccountID })
	return m.accounts[i], k, nil
}

func (m *memory) Changes(_ context.Context, after int64) (account.Changes, error) {
	leave, err := m.enter()
	defer leave()
	last := int64(len(m.changes))
	if err != nil || after < m.cut || after > last {
		return account.Changes{Last: last, Lost: true}, err
	}
	return account.Changes{List: m.changes[after:], Last: last}, nil
}

func (m *memory) Imported(context.Context) ([]account.Hash, error) {
	m.set(func() { m.listed++ })
	leave, err := m.enter()
	defer leave()
	return slices.Clone(m.imported), err
}

func (m *memory) List(_ context.Context, nameOrID string) (list []account.Account, err error) {
	leave, err := m.enter()
	defer leave()
	for _, a := range m.accounts {
		if nameOrID == "" || a.ID == nameOrID || a.Name == nameOrID {
			list = append(list, a)
		}
	}
	return list, err
}

func (m *memory) CreateAccount(_ context.Context, _ audit.Actor, a account.Account) error {
	leave, err := m.enter()
	defer leave()
	if slices.ContainsFunc(m.accounts, func(b account.Account) bool { return a.Name == b.Name }) {
		return account.ErrExists
	}
	m.accounts = append(m.accounts, a)
	m.changed(account.ChangedAccount, a.ID)
	return err
}

func (m *memory) CloseAccount(ctx context.Context, by audit.Actor, id string, _ time.Time) (account.Account, error) {
	return m.UpdateAccount(ctx, by, id, account.Update{Suspended: new(true)})
}

func (m *memory) UpdateAccount(_ context.Context, _ audit.Actor, id string, u account.Update) (account.Account, error) {
	leave, err := m.enter()
	defer leave()
	i := slices.IndexFunc(m.accounts, func(a account.Account) bool { return a.ID == id })
	if i < 0 {
		return account.Account{}, cmp.Or(err, account.ErrNotFound)
	}
	a := &m.accounts[i]
	if u.PriceList != nil {
		a.PriceLists = a.WithPriceList(u.PriceList)
	}
	if u.Suspended != nil {
		a.Suspended = *u.Suspended
	}
	if u.OnDisconnect != nil {
		a.OnDisconnect = *u.OnDisconnect
	}
	if u.Limits != nil {
		a.Limits = *u.Limits
	}
	if u.Budget != nil {
		a.Budget = *u.Budget
	}
	if u.EndCredit {
		a.Credit = nil
	}
	m.changed(account.ChangedAccount, id)
	return *a, err
}

func (m *memory) AddCredit(_ context.Context, _ audit.Actor, e account.CreditEntry) (account.Account, error) {
	leave, err := m.enter()
	defer leave()
	i := slices.IndexFunc(m.accounts, func(a account.Account) bool { return a.ID == e.AccountID })
	if i < 0 {
		return account.Account{}, cmp.Or(err, account.ErrNotFound)
	}
	if m.accounts[i].Credit == nil && e.Goodwill {
		m.accounts[i].Goodwill += e.Amount
		return m.accounts[i], err
	}
	c := account.Credit{Paid: e.Amount}
	if had := m.accounts[i].Credit; had != nil {
		c.Paid += had.Paid
	}
	if c.Paid < 0 {
		return account.Account{}, account.ErrOverdrawn
	}
	if c.Paid > account.MaxAmount {
		return m.accounts[i], account.ErrTooMuch
	}
	m.accounts[i].Credit = &c
	m.changed(account.ChangedAccount, e.AccountID)
	return m.accounts[i], err
}

func (m *memory) CreateKey(_ context.Context, _ audit.Actor, k account.Key, hash account.Hash) error {
	leave, err := m.enter()
	defer leave()
	m.keys[hash] = k
	m.changed(account.ChangedKey, k.ID)
	return err
}

func (m *memory) Keys(_ context.Context, accountID string) (list []account.Key, err error) {
	leave, err := m.enter()
	defer leave()
	for _, k := range m.keys {
		if k.AccountID == accountID {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b account.Key) int { return cmp.Compare(a.ID, b.ID) }) // by the time they were made
	return list, err
}

func (m *memory) Key(_ context.Context, id string) (account.Key, error) {
	leave, err := m.enter()
	defer leave()
	for _, k := range m.keys {
		if k.ID == id {
			return k, err
		}
	}
	return account.Key{}, cmp.Or(err, account.ErrNotFound)
}

func (m *memory) UpdateKey(_ context.Context, _ audit.Actor, id string, u account.KeyUpdate) (account.Key, error) {
	leave, err := m.enter()
	defer leave()
	for hash, k := range m.keys {
		if k.ID != id {
			continue
		}
		if k.Revoked != nil {
			return k, account.ErrRevoked
		}
		if u.Label != nil {
			k.Label = *u.Label
		}
		if u.Models != nil {
			k.Models = *u.Models
		}
		m.keys[hash] = k
		m.changed(account.ChangedKey, id)
		return k, err
	}
	return account.Key{}, cmp.Or(err, account.ErrNotFound)
}

func (m *memory) RevokeKey(_ context.Context, _ audit.Actor, id string, at time.Time) (account.Key, error) {
	leave, err := m.enter()
	defer leave()
	for hash, k := range m.keys {
		if k.ID == id {
			k.Revoked = &at
			m.keys[hash] = k
			m.changed(account.ChangedKey, id)
			return k, err
		}
	}
	return account.Key{}, cmp.Or(err, account.ErrNotFound)
}

func (m *memory) Bootstrap(_ context.Context, _ audit.Actor, a account.Account) (bool, error) {
	leave, err := m.enter()
	defer leave()
	if len(m.accounts) > 0 {
		return false, err
	}
	m.accounts = append(m.accounts, a)
	return true, err
}

func (m *memory) CreateSetupToken(_ context.Context, _ audit.Actor, hash account.Hash, _, expires time.Time) error {
	leave, err := m.enter()
	defer leave()
	m.setups[hash] = expires
	return err
}
