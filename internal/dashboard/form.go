package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
)

func formError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &llm.Error{
			Code:    llm.CodeRequestTooLarge,
			Message: "The form is larger than 64 KiB, the limit for forms. Shorten it and send it again.", Err: err,
		}
	}
	return &llm.Error{
		Code: llm.CodeInvalidRequest, Message: "The form cannot be read. Reload the page and send it again.", Err: err,
	}
}

// form holds the values of a form and its mistakes. The zero value is an empty form.
type form struct {
	values  url.Values
	wrong   map[string]string // by the field's name
	general []string          // mistakes without a field
	fields  []string          // names of the created fields, in order
	wait    time.Duration     // time before it may be sent again; 0 for none
}

// sent returns the form of a POST.
func sent(r *http.Request) *form { return &form{values: r.PostForm} }

// refuse adds an error to its field. It reports whether the error is about the values; the form does not show others.
func (f *form) refuse(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case llm.CodeInvalidRequest, llm.CodeAuthentication, llm.CodeRateLimited, llm.CodeForbidden, llm.CodeNotFound:
	default:
		return false
	}
	if e.Code == llm.CodeRateLimited {
		f.wait = max(e.RetryAfter, time.Second)
	}
	if e.Param == "" {
		f.general = append(f.general, e.Message)
		return true
	}
	f.mistake(e.Param, e.Message)
	return true
}

// mistake records a field's mistake; the first one of a field counts.
func (f *form) mistake(name, text string) {
	if f.wrong == nil {
		f.wrong = map[string]string{}
	}
	if f.wrong[name] == "" {
		f.wrong[name] = text
	}
}

func (f *form) bad() bool { return len(f.wrong)+len(f.general) > 0 }

// status returns the page's status: 422 for a refused form, 429 for one that was sent too often.
func (f *form) status() int {
	switch {
	case f.wait > 0:
		return http.StatusTooManyRequests
	case f.bad():
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// formServe shows a page with a form.
type formServe func(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error

// unsent shows a form before it is sent.
func unsent(show formServe) serve {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) error { return show(w, r, v, &form{}) }
}

// refused shows the form again with its mistakes, or returns an error that the form does not show.
func (f *form) refused(w http.ResponseWriter, r *http.Request, v *people.Visit, err error, show formServe) error {
	if f.refuse(err) {
		return show(w, r, v, f)
	}
	return err
}

// followed redirects to the next page, or shows the form again with its mistakes.
func (f *form) followed(w http.ResponseWriter, r *http.Request, v *people.Visit, to string, err error,
	show formServe,
) error {
	if err != nil {
		return f.refused(w, r, v, err, show)
	}
	return goTo(w, r, to)
}

// field returns a field with its sent value, except a password, and its mistake. Before the form is sent, the field
// keeps its own value and choices.
func (f *form) field(x Field) Field {
	f.fields = append(f.fields, x.Name)
	x.Error = f.wrong[x.Name]
	if x.Kind == "" {
		x.Kind = "text"
	}
	if f.values == nil {
		return x
	}
	if x.Kind != "password" {
		x.Value = f.values.Get(x.Name)
	}
	for i := range x.Choices {
		x.Choices[i].Chosen = slices.Contains(f.values[x.Name], x.Choices[i].Value)
	}
	return x
}

// problems returns all mistakes, in the order of the fields. Call it after all fields are created: a mistake of a
// field that the page does not have is shown without a link.
func (f *form) problems() []Problem {
	var all []Problem
	for _, text := range f.general {
		all = append(all, Problem{Text: text})
	}
	for _, name := range f.fields {
		if text := f.wrong[name]; text != "" {
			all = append(all, Problem{Text: text, Href: "#f-" + name})
		}
	}
	for name, text := range f.wrong {
		if !slices.Contains(f.fields, name) {
			all = append(all, Problem{Text: text})
		}
	}
	return all
}

// secret returns the value of a password field.
func secret(r *http.Request, name string) llm.Secret {
	return llm.NewSecret(r.PostFormValue(name))
}
