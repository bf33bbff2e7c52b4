package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"weir/internal/admin"
	"weir/internal/people"
)

// adminContent implements the calls about the content log.
type adminContent struct {
	content *admin.Content
	running chan struct{} // holds a value for each export
}

// contentRoutes returns the routes of the content log.
func (ad *Admin) contentRoutes(o *Options) []people.Route {
	const one, all = "/accounts/{account}/requests/{id}/content", "/accounts/{account}/content"
	h := &adminContent{o.Admin.Content, make(chan struct{}, maxExports)}
	return []people.Route{
		ad.route("GET "+one, people.ReadContent, h.show),
		ad.route("DELETE "+one, people.Manage, h.remove),
		ad.route("DELETE "+all, people.Manage, h.purge, "before"),
		ad.contentExport("GET "+adminRoot+all, h),
	}
}

// id returns the request in the path.
func (h *adminContent) id(r *adminRequest) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return id, noRequest("id")
	}
	return id, nil
}

func (h *adminContent) show(r *adminRequest) (answer, error) {
	id, err := h.id(r)
	if err != nil {
		return answer{}, err
	}
	v, err := h.content.Read(r.Context(), r.by(), r.visit.Account.ID, id)
	if err != nil {
		return answer{}, err
	}
	return found(v)
}

func (h *adminContent) remove(r *adminRequest) (answer, error) {
	id, err := h.id(r)
	if err != nil {
		return answer{}, err
	}
	return answer{Status: http.StatusNoContent}, h.content.Remove(r.Context(), r.by(), r.visit.Account, id)
}

// purge deletes the content of an account.
func (h *adminContent) purge(r *adminRequest) (answer, error) {
	before, err := r.query.instant("before")
	if err != nil {
		return answer{}, err
	}
	gone, err := h.content.Purge(r.Context(), r.by(), r.visit.Account, before)
	if err != nil {
		return answer{}, err
	}
	return found(gone)
}

// contentExport returns the route that streams the content of an account as JSON Lines.
func (ad *Admin) contentExport(pattern string, h *adminContent) people.Route {
	return people.Route{
		Pattern: pattern, Right: people.ReadContent,
		Serve: func(w http.ResponseWriter, r *http.Request, v *people.Visit) {
			begun := false
			err := h.export(r, v, func(line *admin.LoggedContent) error {
				if !begun {
					begun = true
					w.Header().Set("Content-Type", "application/jsonl")
				}
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
				return json.NewEncoder(w).Encode(line)
			})
			if lost, ok := errors.AsType[*admin.Unreadable](err); ok { // a line of each has the error
				ad.log.ErrorContext(r.Context(), "content cannot be decrypted", "request_id", v.Origin.Request,
					"count", lost.Count, "requests", lost.Requests, "err", lost.Err)
				err = nil
			}
			switch {
			case err == nil && !begun:
				w.Header().Set("Content-Type", "application/jsonl")
				w.WriteHeader(http.StatusOK)
			case err != nil && begun:
				ad.log.ErrorContext(r.Context(), "export of content was aborted", "request_id", v.Origin.Request,
					"err", err)
				panic(http.ErrAbortHandler) // so that clients do not accept a partial file as complete
			case err != nil:
				ad.Refuse(w, r, v, err)
			}
		},
	}
}

func (h *adminContent) export(r *http.Request, v *people.Visit, line func(*admin.LoggedContent) error) error {
	query, err := readQuery(r, []string{"from", "to"})
	if err != nil {
		return err
	}
	from, err := query.instant("from")
	if err != nil {
		return err
	}
	until, err := query.instant("to")
	if err != nil {
		return err
	}
	end, err := beginExport(h.running)
	if err != nil {
		return err
	}
	defer end()
	return h.content.Export(r.Context(), v.By, v.Account, from, until, line)
}
