package api

import (
	"fmt"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
)

// adminKeys implements the calls about API keys.
type adminKeys struct{ admin *admin.Admin }

// keyView holds a key without its secret.
type keyView struct {
	ID          string               `json:"id"`
	AccountID   string               `json:"account_id"`
	Label       string               `json:"label"`
	Last4       string               `json:"last4"`
	State       account.KeyState     `json:"state"`
	Permissions []account.Permission `json:"permissions"`
	Models      []string             `json:"models"` // patterns; empty for all
	Limits      limitsView           `json:"limits"`
	Budget      *budgetView          `json:"budget"`
	perViews
	Tags      map[string]string `json:"tags"` // for requests without a tag of that name
	Required  []string          `json:"required_tags"`
	NoContent bool              `json:"no_content"` // the content of its requests is not logged
	// AnswerCache is the greatest age of stored answers to its requests; 0 for no stored answers.
	AnswerCache int64      `json:"answer_cache_seconds"`
	CreatedBy   *string    `json:"created_by"` // id of the user
	Service     bool       `json:"service"`    // whether it belongs to no person
	Client      *string    `json:"client"`     // see account.Key
	Resource    *string    `json:"resource"`
	Created     time.Time  `json:"created"`
	Expires     *time.Time `json:"expires"`
	Revoked     *time.Time `json:"revoked"`
	LastUsed    *time.Time `json:"last_used"`
	// FormerLast4 belongs to the secret before the last rotation, which is valid until FormerUntil.
	FormerLast4 *string    `json:"former_last4"`
	FormerUntil *time.Time `json:"former_until"`
}

// newKeyView holds a key with its secret, which is returned only once.
type newKeyView struct {
	keyView
	Key string `json:"key"`
}

func (h *adminKeys) view(k *account.Key, used map[string]time.Time) keyView {
	v := keyView{
		ID: k.ID, AccountID: k.AccountID, Label: k.Label, Last4: k.Last4, State: k.State(h.admin.Now()),
		Permissions: k.Permissions, Models: append([]string{}, k.Models...), Limits: limitsView(k.Limits),
		Budget: viewBudget(k.Budget), perViews: viewPer(k.Per), Tags: map[string]string{},
		Required:    append([]string{}, k.Tags.Required...),
		NoContent:   k.NoContent,
		AnswerCache: int64(k.AnswerCache / time.Second), CreatedBy: orNull(k.Creator), Service: k.Creator == "",
		Client: orNull(k.Client), Resource: orNull(k.Resource),
		Created: k.Created, Expires: k.Expires, Revoked: k.Revoked,
		FormerLast4: orNull(k.FormerLast4), FormerUntil: k.FormerUntil,
	}
	for _, t := range k.Tags.Defaults {
		v.Tags[t.Name] = t.Value
	}
	if at, ok := used[k.ID]; ok {
		v.LastUsed = &at
	}
	return v
}

func (h *adminKeys) list(r *adminRequest) (answer, error) {
	list, err := h.admin.Accounts.Keys(r.Context(), r.visit.Account.ID)
	if err != nil {
		return answer{}, err
	}
	used, err := h.admin.Reports.KeysUsed(r.Context(), r.visit.Account.ID)
	view := func(k *account.Key) keyView { return h.view(k, used) }
	return listed(r.query, list, err, func(k *account.Key) string { return k.ID }, view)
}

// find returns the key in the path, if it belongs to the visit's account.
func (h *adminKeys) find(r *adminRequest) (account.Key, error) {
	k, err := h.admin.Accounts.Key(r.Context(), r.PathValue("key"))
	if err == nil && k.AccountID != r.visit.Account.ID || err != nil && llm.AsError(err).Code == llm.CodeNotFound {
		return account.Key{}, llm.Errorf(llm.CodeNotFound, "There is no such key in this account.").At("key")
	}
	return k, err
}

// answer answers with a key in its present state, or returns err if it is set.
func (h *adminKeys) answer(r *adminRequest, k *account.Key, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	used, err := h.admin.Reports.KeysUsed(r.Context(), k.AccountID)
	return shown(used, err, func(used *map[string]time.Time) keyView { return h.view(k, *used) })
}

func (h *adminKeys) show(r *adminRequest) (answer, error) {
	k, err := h.find(r)
	return h.answer(r, &k, err)
}

func (h *adminKeys) create(r *adminRequest) (answer, error) {
	o := account.KeyOptions{Account: r.visit.Account.ID, Bounded: !r.visit.Operator()}
	var service, noContent *bool
	err := readFields("", r.body, append(perFields(&o.Per),
		field{"label", text(&o.Label)},
		field{"permissions", texts(&o.Permissions)},
		field{"models", texts(&o.Models)},
		field{"expires", instant(&o.Expires)},
		field{"limits", limitsField(&o.Limits)},
		field{"budget", budgetField(&o.Budget)},
		field{"tags", tagsField(&o.Tags.Defaults)},
		field{"required_tags", texts(&o.Tags.Required)},
		field{"no_content", flag(&noContent)},
		field{"answer_cache_seconds", seconds(&o.AnswerCache, account.MaxAnswerCache)},
		field{"service", flag(&service)},
	)...)
	o.NoContent = noContent != nil && *noContent
	isService := service != nil && *service
	if err == nil && isService {
		err = r.visit.MayMakeServiceKey(o.Account, o.Permissions)
	}
	if err != nil {
		return answer{}, err
	}
	if slices.Contains(o.Permissions, account.Admin) && !r.visit.Operator() {
		return answer{}, llm.Errorf(llm.CodeForbidden,
			`Only operators can give a key the permission "admin".`).At("permissions")
	}
	if u, with := r.visit.User(), r.visit.Key(); isService {
		o.Creator = ""
	} else if u != nil {
		o.Creator = u.ID
	} else if with != nil { // the creator of that key is responsible for this one, too
		o.Creator = with.Creator
	}
	k, token, err := h.admin.Accounts.CreateKey(r.Context(), r.by(), o)
	if err != nil {
		return answer{}, inLimits(err)
	}
	return created(newKeyView{h.view(&k, nil), token.Reveal()}, "accounts", k.AccountID, "keys", k.ID)
}

// change changes the given members: all of them or nothing (RFC 7396).
func (h *adminKeys) change(r *adminRequest) (answer, error) {
	k, err := h.find(r)
	if err == nil {
		err = r.visit.MayChangeKey(&k)
	}
	if err != nil {
		return answer{}, err
	}
	u, err := keyUpdateOf(r.body, &k)
	if err != nil {
		return answer{}, err
	}
	if u.Permissions != nil && slices.Contains(*u.Permissions, account.Admin) && !r.visit.Operator() {
		return answer{}, llm.Errorf(llm.CodeForbidden,
			`Only operators can give a key the permission "admin".`).At("permissions")
	}
	u.Tighten = r.visit.May(people.Manage, k.AccountID) != nil
	k, err = h.admin.Accounts.UpdateKey(r.Context(), r.by(), k.ID, u)
	return h.answer(r, &k, inLimits(err))
}

func keyUpdateOf(body []byte, k *account.Key) (account.KeyUpdate, error) {
	label, limits, budget, per, tags := k.Label, k.Limits, k.Budget, k.Per, k.Tags
	var models []string
	var permissions []account.Permission
	var expires time.Time
	var answers time.Duration
	var u account.KeyUpdate
	err := readFields("", body, append(perFields(&per),
		field{"label", text(&label)},
		field{"permissions", given(&u.Permissions, &permissions, texts(&permissions))},
		field{"models", given(&u.Models, &models, texts(&models))},
		field{"expires", given(&u.Expires, &expires, instant(&expires))},
		field{"limits", limitsField(&limits)},
		field{"budget", budgetField(&budget)},
		field{"tags", tagsField(&tags.Defaults)},
		field{"required_tags", texts(&tags.Required)},
		field{"no_content", flag(&u.NoContent)},
		field{"answer_cache_seconds", given(&u.AnswerCache, &answers, seconds(&answers, account.MaxAnswerCache))},
	)...)
	// Unchanged members are not written, because another request may be changing them.
	if label != k.Label {
		u.Label = &label
	}
	if limits != k.Limits {
		u.Limits = &limits
	}
	if budget != k.Budget {
		u.Budget = &budget
	}
	if !slices.Equal(per, k.Per) {
		u.Per = &per
	}
	if !slices.Equal(tags.Defaults, k.Tags.Defaults) {
		u.Tags = &tags.Defaults
	}
	if !slices.Equal(tags.Required, k.Tags.Required) {
		u.Required = &tags.Required
	}
	return u, err
}

// defaultOverlap is how long a rotated key's former secret stays valid by default.
const defaultOverlap = 24 * time.Hour

// seconds reads a duration in whole seconds, from 0.
func seconds(dst *time.Duration, longest time.Duration) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		most := int64(longest / time.Second)
		n, ok := rawjson.AsInt(v)
		if !ok || n < 0 || n > most {
			return wrongKind(at, fmt.Sprintf("an integer from 0 to %d", most))
		}
		*dst = time.Duration(n) * time.Second
		return nil
	}
}

// rotate replaces the secret of a key. The former secret stays valid for the overlap.
func (h *adminKeys) rotate(r *adminRequest) (answer, error) {
	k, err := h.find(r)
	if err == nil {
		err = r.visit.MayChangeKey(&k)
	}
	if err != nil {
		return answer{}, err
	}
	overlap := defaultOverlap
	if err := readFields("", r.body, field{"overlap_seconds", seconds(&overlap, account.MaxOverlap)}); err != nil {
		return answer{}, err
	}
	k, token, err := h.admin.Accounts.RotateKey(r.Context(), r.by(), k.ID, overlap)
	if err != nil {
		return answer{}, err
	}
	return found(newKeyView{h.view(&k, nil), token.Reveal()})
}

// given wraps a reader so that it also records that the field was present.
func given[T any](dst **T, value *T, read func(at string, v []byte) error) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		*dst = value
		return read(at, v)
	}
}

// revoke revokes a key for good. Revoking it again changes nothing.
func (h *adminKeys) revoke(r *adminRequest) (answer, error) {
	k, err := h.find(r)
	if err == nil {
		err = r.visit.MayRevokeKey(&k)
	}
	if err != nil {
		return answer{}, err
	}
	k, err = h.admin.Accounts.RevokeKey(r.Context(), r.by(), k.ID)
	return h.answer(r, &k, err)
}
