package api

import (
	"weir/internal/admin"
	"weir/internal/people"
)

// adminSockets implements the calls about open WebSockets.
type adminSockets struct{ sockets *admin.Sockets }

// socketRoutes returns the routes of open WebSockets.
func (ad *Admin) socketRoutes(o *Options) []people.Route {
	const all = "/accounts/{account}/sockets"
	h := &adminSockets{o.Admin.Sockets}
	return []people.Route{
		ad.route("GET /sockets", people.Operate, h.list, listing...),
		ad.route("GET "+all, people.Read, h.list, listing...),
		ad.route("GET "+all+"/{socket}", people.Read, h.show),
		ad.route("DELETE "+all+"/{socket}", people.Use, h.end),
	}
}

// list lists the open WebSockets of the account in the path, or of all.
func (h *adminSockets) list(r *adminRequest) (answer, error) {
	account := ""
	if a := r.visit.Account; a != nil {
		account = a.ID
	}
	all, err := h.sockets.List(r.Context(), account, r.query.cursor, r.query.limit+1)
	if err != nil {
		return answer{}, err
	}
	same := func(v *admin.SocketView) admin.SocketView { return *v }
	return found(firstPage(r.query, all, func(v *admin.SocketView) string { return v.ID }, same))
}

func (h *adminSockets) show(r *adminRequest) (answer, error) {
	v, err := h.sockets.One(r.Context(), r.visit.Account.ID, r.PathValue("socket"))
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

func (h *adminSockets) end(r *adminRequest) (answer, error) {
	return gone(h.sockets.End(r.Context(), r.by(), r.visit.Account.ID, r.PathValue("socket")))
}
