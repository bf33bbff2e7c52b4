package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// resolveForm sets the cost of an attempt with an unknown end. Only operators get it.
type resolveForm struct {
	Action string
	Field  Field
}

// resolvedField is the name of the field with the cost of an attempt.
const resolvedField = "cost_usd"

// resolve sets the cost of the attempt in the path.
func (h *requestHandlers) resolve(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	d, err := h.read(r, v)
	if err != nil {
		return err
	}
	a := d.Attempt(r.PathValue("n"))
	if a == nil {
		return llm.Errorf(llm.CodeNotFound, "The request has no such attempt.")
	}
	f := sent(r)
	cost, err := llm.ParseMoney(strings.TrimSpace(r.PostFormValue(resolvedField)))
	if err != nil {
		f.mistake(resolvedField, "The cost must be an amount of US dollars. Enter one such as 0.0123, or 0.")
		return h.show(w, r, v, f)
	}
	err = h.admin.Ledger.Decide(r.Context(), v.By, a.ID, cost)
	to := accountPath(v.Account.Name) + "/requests/" + d.ID.String() + "?done=attempt-resolved"
	return f.followed(w, r, v, to, err, h.show)
}

// offerResolve adds a form to each shown attempt with an unknown end.
func (p *requestPage) offerResolve(d *report.RequestDetail, f *form) {
	for i := range p.Attempts {
		if p.Attempts[i].Unresolved {
			p.Attempts[i].Resolve = resolveFormOf(p.ListPath+"/"+p.ID, &d.Parts[i], f)
		}
	}
}

// resolveFormOf returns the form of an attempt.
func resolveFormOf(request string, a *report.Attempt, f *form) *resolveForm {
	n := strconv.Itoa(int(a.ID.N))
	x := f.field(Field{
		Name: resolvedField, Label: "Cost in US dollars", Mode: "decimal", Required: true, Short: true,
		Hint: "As the provider bills it. 0 if the provider did no work.",
	})
	x.ID = "f-" + resolvedField + "-" + n
	return &resolveForm{request + "/attempts/" + n + "/resolve", x}
}
