package api

import (
	"weir/internal/admin"
	"weir/internal/people"
)

// adminAnswers implements the calls about the answer cache.
type adminAnswers struct{ answers *admin.Answers }

// answerRoutes returns the routes of the answer cache.
func (ad *Admin) answerRoutes(o *Options) []people.Route {
	const all = "/accounts/{account}/answers"
	h := &adminAnswers{o.Admin.Answers}
	return []people.Route{
		ad.route("GET "+all, people.Read, h.show),
		ad.route("DELETE "+all, people.Manage, h.purge, "before"),
	}
}

func (h *adminAnswers) show(r *adminRequest) (answer, error) {
	u, err := h.answers.Of(r.Context(), r.visit.Account.ID)
	if err != nil {
		return answer{}, err
	}
	return found(u)
}

// purge deletes the stored answers of an account.
func (h *adminAnswers) purge(r *adminRequest) (answer, error) {
	before, err := r.query.instant("before")
	if err != nil {
		return answer{}, err
	}
	gone, err := h.answers.Purge(r.Context(), r.by(), r.visit.Account, before)
	if err != nil {
		return answer{}, err
	}
	return found(gone)
}
