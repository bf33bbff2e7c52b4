package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/people"
)

// perPart shows the limits and budgets of an account's end users and tag values, and the form that changes them.
type perPart struct {
	Tag    Field
	Limits []Field
	Budget []Field
	Rows   []Fact
}

// perPrefix prefixes the names of the form's fields, because the page also has the account's own limits and budget.
const perPrefix = "per_"

// setPer sets the limits and the budget of each end user or of each value of a tag; empty fields remove them.
func (h *accountHandlers) setPer(r *http.Request, v *people.Visit, f *accountForms) (*form, error) {
	f.per = sent(r)
	p := account.Per{Tag: strings.TrimSpace(r.PostFormValue("tag"))}
	for _, l := range limitNames {
		*l.of(&p.Limits) = wholeOf(f.per, perPrefix+l.name)
	}
	p.Budget = budgetOf(f.per, perPrefix)
	if p.Tag != "" {
		if err := llm.CheckTags([]llm.Tag{{Name: p.Tag, Value: "x"}}); err != nil {
			f.per.mistake("tag", "The name of the tag is too long, or has a comma, an equals sign or a character that "+
				"cannot be printed.")
		}
	}
	if f.per.bad() {
		return f.per, nil
	}
	list := account.WithPer(v.Account.Per, p)
	_, err := h.admin.Accounts.UpdateAccount(r.Context(), v.By, v.Account.ID, account.Update{Per: &list})
	return f.per, err
}

func perPartOf(f *form, a *account.Account) perPart {
	user := account.PerOf(a.Per, "")
	p := perPart{
		Tag: f.field(Field{
			Name: "tag", Label: "Tag", Optional: true, Max: 64, Example: "end users",
			Hint: "Name of a tag, to limit each of its values. Leave it empty to limit each end user.",
		}),
		Limits: limitFields(f, perPrefix, &user.Limits), Budget: budgetFields(f, perPrefix, user.Budget),
	}
	period := &p.Budget[1]
	period.Choices = slices.DeleteFunc(period.Choices, func(c Choice) bool {
		return c.Value == string(budget.PeriodTotal)
	})
	for i := range a.Per {
		of := "Each end user"
		if tag := a.Per[i].Tag; tag != "" {
			of = "Each value of " + tag
		}
		p.Rows = append(p.Rows, Fact{of, perText(&a.Per[i])})
	}
	return p
}

// perText describes limits and a budget.
func perText(p *account.Per) string {
	var all []string
	for _, l := range limitNames {
		if n := *l.of(&p.Limits); n > 0 {
			all = append(all, fmt.Sprintf("%s: %d", strings.ToLower(l.label), n))
		}
	}
	if p.Budget.Limit > 0 {
		all = append(all, "budget: "+budgetText(p.Budget))
	}
	return strings.Join(all, ", ")
}
