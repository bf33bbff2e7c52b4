package pricing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// named reads the models of an entry: ids that the price list contains or the entry adds, or a rule about ids.
func (r *fileReader) named(m map[string]*node, a *addition) {
	n := m["models"]
	if n.isObject() {
		if a.Models.rule = r.rule(n); a.Adds != nil || a.Free {
			r.report(n.at, "an entry that adds a model must list its id in `models`, such as [\"small\"]")
		}
		return
	}
	for _, item := range r.list(n, "models") {
		a.Models.ids = append(a.Models.ids, r.text(item, "models"))
	}
	switch ids := a.Models.ids; {
	case a.Adds != nil && len(ids) == 1 && !a.Adds.matches(fold(ids[0])):
		r.report(m["adds"].at, "the rule does not match %s", quoted(ids[0]))
	case a.Adds != nil && len(ids) > 1, a.Adds != nil && a.Mode != "":
		r.report(m["adds"].at, "an entry that adds a model must have one id and no `mode`")
	case a.Adds == nil:
		r.checkIDs(n, a)
	}
}

// checkIDs warns about ids that the provider's price list does not contain, and about known ids that the entry declares
// free.
func (r *fileReader) checkIDs(n *node, a *addition) {
	known, listed := r.idsOf(a.Provider)
	for _, item := range n.items {
		id, _ := item.value.(string)
		switch has := slices.Contains(known, id); {
		case has && a.Free:
			r.warn(item.at, "%s is known; to make it free, use rates of \"0\"; it is ignored", quoted(id))
		case has || !listed:
		case a.prices():
			r.warn(item.at, "the price list of %s has no model %s%s; the price applies to exactly this name; `adds`, "+
				"such as {\"equals\": %s}, avoids this warning",
				a.Provider, quoted(id), r.nearestModel(a.Provider, id, known), quoted(fold(id)))
		default:
			r.warn(item.at, "the price list of %s has no model %s%s; it is ignored", a.Provider, quoted(id),
				r.nearestModel(a.Provider, id, known))
		}
	}
}

// nearestModel returns a suggestion for an id that the list does not contain: the model that the list matches by that
// name, else the most similar id.
func (r *fileReader) nearestModel(provider, id string, known []string) string {
	if v := r.book.vendor(r.book.list(provider)); v != nil {
		if m, exact := v.find(fold(id)); m != nil && exact {
			return fmt.Sprintf("; did you mean %q?", m.ID)
		}
	}
	if s := suggest(id, known); strings.HasPrefix(s, "; did") {
		return s
	}
	return ""
}

// idsOf returns the models of the provider's list, including those that files add, and whether the data has the list.
func (r *fileReader) idsOf(provider string) (ids []string, listed bool) {
	v := r.book.vendor(r.book.list(provider))
	if _, ok := r.models[provider]; !ok && v != nil {
		for i := range v.Models {
			ids = append(ids, v.Models[i].ID)
		}
		r.models[provider] = ids
	}
	return r.models[provider], v != nil
}

// take adds a valid entry. An entry that adds a model, as a price for an unknown id does, becomes two entries: one that
// adds the model without a price, and one with the price, which may begin on a later day.
func (r *fileReader) take(a *addition) {
	info := &r.infos[len(r.infos)-1]
	info.Entries++
	info.Seen = max(info.Seen, a.Seen)
	known, _ := r.idsOf(a.Provider)
	for _, id := range a.Models.ids {
		if a.Adds == nil && (slices.Contains(known, id) || !a.prices()) {
			continue
		}
		adds := a.Adds
		if adds == nil {
			adds = &rule{Equals: fold(id)}
		}
		known = append(known, id)
		r.own[a.Provider] = append(r.own[a.Provider], &addition{
			Provider: a.Provider, Models: models{ids: []string{id}}, Adds: adds, Free: a.Free,
			Rates: json.RawMessage(`{}`), Assumed: a.Assumed, Source: a.Source, Seen: a.Seen, file: a.file,
		})
	}
	r.models[a.Provider] = known
	if a.Adds = nil; !a.Free {
		r.own[a.Provider] = append(r.own[a.Provider], a)
	}
}
