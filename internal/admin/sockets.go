package admin

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/opensocket"
	"weir/internal/store"
)

// Sockets lists the open WebSockets of clients, and ends them.
type Sockets struct {
	store    *store.DB
	accounts *account.Service
}

// SocketView is an open WebSocket, as its node reported it in the last seconds.
type SocketView struct {
	ID        string    `json:"id"`
	API       string    `json:"api"` // responses or realtime
	AccountID string    `json:"account_id"`
	Account   string    `json:"account"`
	KeyID     string    `json:"key_id"`
	Model     string    `json:"model"` // of the last request; empty before the first one
	NodeID    string    `json:"node_id"`
	Node      string    `json:"node"` // name of the machine; empty if it is not known
	Began     time.Time `json:"began"`
	Active    time.Time `json:"last_active"` // when a request last began or ended
	Requests  int64     `json:"requests"`    // that have ended
	Running   int64     `json:"running"`
	ChargeUSD string    `json:"charge_usd"`
	Uncertain bool      `json:"uncertain"` // the charge may be higher
	Ending    bool      `json:"ending"`    // it was ended, and its node has not closed it yet
	// Charge is for pages.
	Charge llm.Money `json:"-"`
}

// List returns open WebSockets of an account, whose id is given, or of all for an empty id: up to a limit, the oldest
// first, after the one with the id after.
func (s *Sockets) List(ctx context.Context, account, after string, limit int) ([]SocketView, error) {
	return s.read(ctx, store.SocketsQuery{Account: account, After: after, Limit: limit})
}

// ListNamed returns the open WebSockets of the account with that name, or of all for an empty name.
func (s *Sockets) ListNamed(ctx context.Context, account string, limit int) ([]SocketView, error) {
	id := ""
	if account != "" {
		a, err := s.accounts.Account(ctx, account)
		if err != nil {
			return nil, err
		}
		id = a.ID
	}
	return s.List(ctx, id, "", limit)
}

// One returns an open WebSocket of an account, whose id is given.
func (s *Sockets) One(ctx context.Context, account, id string) (v SocketView, err error) {
	socket, err := parseSocket(id)
	if err != nil {
		return v, err
	}
	all, err := s.read(ctx, store.SocketsQuery{Account: account, ID: socket, Limit: 1})
	switch {
	case err != nil:
		return v, err
	case len(all) == 0:
		return v, errNoSocket()
	}
	return all[0], nil
}

// End ends an open WebSocket of an account, whose id is given, or of any for an empty id. Its node closes it within
// seconds.
func (s *Sockets) End(ctx context.Context, by audit.Actor, account, id string) error {
	socket, err := parseSocket(id)
	if err != nil {
		return err
	}
	err = s.store.Sockets.End(ctx, by, account, socket)
	if errors.Is(err, store.ErrNoSocket) {
		return errNoSocket()
	}
	return err
}

func errNoSocket() error {
	return llm.Errorf(llm.CodeNotFound, "There is no open WebSocket with this id: weir sockets list shows them.")
}

func parseSocket(id string) (uuid.UUID, error) {
	socket, err := uuid.Parse(id)
	if err != nil {
		return socket, errNoSocket()
	}
	return socket, nil
}

func (s *Sockets) read(ctx context.Context, q store.SocketsQuery) ([]SocketView, error) {
	all, err := s.store.Sockets.List(ctx, q)
	if err != nil {
		return nil, err
	}
	names, err := s.store.Reports.AccountNames(ctx)
	list := make([]SocketView, len(all))
	for i := range all {
		list[i] = viewSocket(&all[i], names)
	}
	return list, err
}

func viewSocket(x *opensocket.Socket, names map[string]string) SocketView {
	return SocketView{
		ID: x.ID.String(), API: x.API, AccountID: x.Account, Account: names[x.Account], KeyID: x.Key, Model: x.Model,
		NodeID: x.Node.String(), Node: x.NodeName, Began: x.Began, Active: x.Active, Requests: x.Requests,
		Running: x.Running, ChargeUSD: x.Charge.String(), Uncertain: x.Uncertain, Ending: x.Ending, Charge: x.Charge,
	}
}
