package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/admin"
	"weir/internal/contentlog"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/rawjson"
)

// contentPage shows the content of a request.
type contentPage struct {
	ID       string
	Back     string // path of the request
	Created  time.Time
	Facts    []Fact
	Request  Code
	Failures []Code // the providers' words
	Answers  []answerView
	Other    Code     // an answer other than of a chat; without text if there is none
	Remove   *Confirm // nil if the visitor may not delete it
}

// answerView shows one choice of an answer.
type answerView struct {
	Title string
	Parts []Code
}

func (h *requestHandlers) content(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	id, err := contentID(r)
	if err != nil {
		return err
	}
	c, err := h.admin.Content.Read(r.Context(), v.By, v.Account.ID, id)
	if err != nil {
		return err
	}
	p := contentPageOf(accountPath(v.Account.Name)+"/requests/"+id.String(), &c)
	if v.May(people.Manage, v.Account.ID) == nil {
		p.Remove = removeContent(p.Back)
	}
	return h.site.show(w, r, v, page{name: "request-content", title: "Content of a request", data: p})
}

// contentID returns the id of the request in the path.
func contentID(r *http.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return id, llm.Errorf(llm.CodeNotFound, "There is no such request in this account.")
	}
	return id, nil
}

func removeContent(request string) *Confirm {
	return &Confirm{
		Ident: "remove-content", Button: "Delete", Object: "the content", Title: "Delete the content?",
		Text:   "Request and answer are deleted for good. Usage, cost and the audit log stay.",
		Action: request + "/content/remove", Verb: "Delete the content",
	}
}

// removeContent deletes the content of a request.
func (h *requestHandlers) removeContent(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	id, err := contentID(r)
	if err != nil {
		return err
	}
	if err := h.admin.Content.Remove(r.Context(), v.By, v.Account, id); err != nil {
		return err
	}
	return goTo(w, r, accountPath(v.Account.Name)+"/requests/"+id.String()+"?done=content-removed")
}

// contentPath returns the path of a request's content; empty if the visitor may not read it or there is none.
func (h *requestHandlers) contentPath(r *http.Request, v *people.Visit, id uuid.UUID) (string, error) {
	if v.May(people.ReadContent, v.Account.ID) != nil {
		return "", nil
	}
	has, err := h.admin.Content.Has(r.Context(), v.Account.ID, id)
	if err != nil || !has {
		return "", err
	}
	return accountPath(v.Account.Name) + "/requests/" + id.String() + "/content", nil
}

func contentPageOf(back string, c *admin.LoggedContent) contentPage {
	p := contentPage{
		ID: c.RequestID, Back: back, Created: c.Created,
		Facts: []Fact{
			{"Kept until", moment(c.Expires)},
			{"Secrets and personal data replaced", number(int64(c.Redacted))},
		},
		Request: Code{Ident: "content-request", Label: "Request", Text: indented(c.Request)},
	}
	if c.RequestTruncated {
		p.Facts = append(p.Facts, Fact{"Request", "too large: a part is left out"})
	}
	if c.AnswerTruncated {
		p.Facts = append(p.Facts, Fact{"Answer", "too large: a part is left out"})
	}
	for i := range c.Failures {
		p.Failures = append(p.Failures, failureCode(&c.Failures[i]))
	}
	var answer contentlog.Answer
	if json.Unmarshal(c.Answer, &answer) != nil || answer.Choices == nil {
		if !bytes.Equal(c.Answer, []byte("null")) && len(c.Answer) > 0 {
			p.Other = Code{Ident: "content-answer", Label: "Answer", Text: indented(c.Answer)}
		}
		return p
	}
	for i := range answer.Choices {
		p.Answers = append(p.Answers, answerViewOf(&answer.Choices[i], len(answer.Choices)))
	}
	return p
}

// failureCode shows a failed attempt: the message and, if that does not have them, the provider's own words.
func failureCode(f *contentlog.Failure) Code {
	n, text := number(int64(f.Attempt)), f.Message
	if !strings.Contains(text, f.Provider) {
		text += "\n" + f.Provider
	}
	return Code{Ident: "content-failure-" + n, Label: "Attempt " + n + ": " + f.Target, Text: text}
}

// answerViewOf returns the view of one of n choices.
func answerViewOf(c *contentlog.Choice, n int) (v answerView) {
	index := number(int64(c.Index))
	if v.Title = "Answer"; n > 1 {
		v.Title += " " + number(int64(c.Index)+1)
	}
	add := func(name, label, text string) {
		if text != "" {
			v.Parts = append(v.Parts, Code{Ident: "content-" + name + "-" + index, Label: label, Text: text})
		}
	}
	add("reasoning", "Reasoning", c.Reasoning)
	add("text", "Text", c.Text)
	add("refusal", "Refusal", c.Refusal)
	for i, call := range c.Calls {
		add("call-"+number(int64(i)), "Call of "+call.Name, indented([]byte(call.Arguments)))
	}
	return v
}

// mostIndented is the depth of arrays and objects up to which JSON is shown with line breaks. Each level adds two bytes
// to each line: the arguments of a tool, which a model writes, could otherwise fill the memory.
const mostIndented = 30

// indented returns JSON with line breaks, or another text as it is.
func indented(text []byte) string {
	var out bytes.Buffer
	if rawjson.Validate(text, mostIndented) != nil || json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return out.String()
}
