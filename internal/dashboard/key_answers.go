package dashboard

import (
	"time"

	"weir/internal/account"
)

// answerAges lists the ages of stored answers that a form offers, with the words for them.
var answerAges = []struct {
	age   time.Duration
	label string
}{
	{0, "No stored answers, unless a request asks"},
	{5 * time.Minute, "At most 5 minutes old"},
	{time.Hour, "At most an hour old"},
	{oneDay, "At most a day old"},
}

// answersField returns the choice of the age of stored answers. An age that the form does not offer is one more choice.
func answersField(f *form, k *account.Key) Field {
	x := Field{Name: "answer_cache", Label: "Stored answers to equal requests"}
	chosen := false
	for _, a := range answerAges {
		now := a.age == k.AnswerCache
		chosen = chosen || now
		x.Choices = append(x.Choices, Choice{Value: a.age.String(), Label: a.label, Chosen: now})
	}
	if !chosen {
		age := k.AnswerCache.String()
		x.Choices = append(x.Choices, Choice{Value: age, Label: "At most " + age + " old, as now", Chosen: true})
	}
	return f.field(x)
}

// answersOf reads the age of stored answers; a form without this field leaves it as it is.
func answersOf(f *form, now time.Duration) time.Duration {
	if !f.values.Has("answer_cache") {
		return now
	}
	age, err := time.ParseDuration(f.values.Get("answer_cache"))
	if err != nil {
		f.mistake("answer_cache", "The age of stored answers is not in the list. Choose one from the list.")
	}
	return age
}

// AnswersOpen reports whether to open the section of stored answers.
func (p keyForm) AnswersOpen() bool { return !p.Answers.Choices[0].Chosen || p.Answers.Error != "" }
