package dashboard

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"weir/internal/account"
	"weir/internal/people"
	"weir/internal/report"
)

// answersPart is the part of an account's page about the answer cache.
type answersPart struct {
	Stored string // how many, in a sentence
	Purge  *Confirm
}

// answersPartOf returns the part for an account; the button is missing if no answers are stored.
func (h *accountHandlers) answersPartOf(ctx context.Context, a *account.Account) (p answersPart, err error) {
	u, err := h.admin.Answers.Of(ctx, a.ID)
	if err != nil || u.Items == 0 {
		p.Stored = "No answers are stored."
		return p, err
	}
	p.Stored = "Stored answers: " + number(u.Items) + ", " + number(u.Bytes) + " bytes."
	p.Purge = &Confirm{
		Ident: "purge-answers", Button: "Delete stored answers", Object: "of " + a.Name,
		Title:  "Delete the stored answers of " + a.Name + "?",
		Text:   "Equal requests go to providers again. Requests that run now may store new answers.",
		Action: managePath(a.Name) + "/answers/purge", Verb: "Delete the answers",
	}
	return p, nil
}

func (h *accountHandlers) purgeAnswers(r *http.Request, v *people.Visit, _ *accountForms) (*form, error) {
	_, err := h.admin.Answers.Purge(r.Context(), v.By, v.Account, time.Time{})
	return &form{}, err
}

// ageText formats the greatest age of stored answers as requests and flags have it, such as 90s, 15m or 7d.
func ageText(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%unit.of == 0 {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// servedBy names the model that answered, if it is not the attempt's, or says that a stored answer was returned.
func servedBy(a *report.Attempt) string {
	switch {
	case a.Cached.Hit && a.Cached.Saved == 0: // the first answer had no price
		return "a stored answer"
	case a.Cached.Hit:
		return "a stored answer, which saved " + dollars(a.Cached.Saved)
	case a.Served.Other:
		return a.Served.Model + ", another model than the requested one"
	}
	return a.Served.Model
}
