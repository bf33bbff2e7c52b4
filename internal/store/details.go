package store

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The columns opening and settlement of an attempt are JSON objects. An absent member is zero, or follows from the
// other columns.

// object writes a JSON object with the members that are not zero.
type object struct{ b []byte }

func (o *object) name(name string) {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), `":`...)
}

func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.b = rawjson.AppendString(o.b, value)
	}
}

func (o *object) tags(name string, tags []llm.Tag) {
	if len(tags) == 0 {
		return
	}
	o.name(name)
	from := len(o.b)
	for _, t := range tags {
		o.b = rawjson.AppendString(append(o.b, ','), t.Name)
		o.b = rawjson.AppendString(append(o.b, ':'), t.Value)
	}
	o.b[from] = '{'
	o.b = append(o.b, '}')
}

func (o *object) texts(name string, texts []string) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, text := range texts {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = rawjson.AppendString(o.b, text)
	}
	o.b = append(o.b, ']')
}

func (o *object) String() string { return string(append(o.b, '}')) }

// decodeOpening decodes the output of encodeOpening into an attempt that has its model and its time of opening.
func decodeOpening(text string, a *ledger.Attempt) (err error) {
	a.Requested, a.Arrived = a.FullModel(), a.Opened
	return members(text, func(m rawjson.Member) {
		switch m.Name() {
		case "requested":
			a.Requested = rawjson.Text(m.Value)
		case "stream":
			a.Stream = integer(m.Value) != 0
		case "price":
			a.Price.Version = rawjson.Text(m.Value)
		case "bound":
			a.Bound, err = decodeCounts(string(m.Value))
		case "hold":
			a.Hold = llm.Money(integer(m.Value))
		case "waited":
			a.Arrived = a.Opened.Add(-time.Duration(integer(m.Value)) * time.Microsecond)
		case "markup":
			a.Terms = &charge.Terms{Markup: charge.Markup(integer(m.Value))}
		case "own_price":
			a.Terms.Price.Version = rawjson.Text(m.Value)
		case "charge_hold":
			a.ChargeHold = llm.Money(integer(m.Value))
		case "user":
			a.Attribution.User = rawjson.Text(m.Value)
		case "parts":
			a.Parts = budget.Parts(integer(m.Value))
		case "region":
			a.Region = rawjson.Text(m.Value)
		case "tags":
			a.Attribution.Tags = tagsOf(m.Value)
		}
	}, &err)
}

// tagsOf returns the members of an object.
func tagsOf(v []byte) (tags []llm.Tag) {
	for t := range rawjson.Members(v) {
		tags = append(tags, llm.Tag{Name: t.Name(), Value: rawjson.Text(t.Value)})
	}
	return tags
}

// decodeSettlement decodes the output of encodeSettlement. The attempt's opening must have been decoded.
func decodeSettlement(text string, a *ledger.Attempt, s *ledger.Settlement) (err error) {
	if !a.Price.Known() && s.Outcome != ledger.OutcomeOpen {
		s.Unpriced = s.Unpriced.With(llm.Input)
	}
	return members(text, func(m rawjson.Member) {
		switch m.Name() {
		case "usage":
			s.Usage, err = decodeCounts(string(m.Value))
		case "counts":
			s.Counts = integer(m.Value) != 0
		case "finish":
			s.Finish = llm.FinishReason(rawjson.Text(m.Value))
		case "tier":
			s.Tier = rawjson.Text(m.Value)
		case "code":
			s.Code = llm.Code(rawjson.Text(m.Value))
		case "status":
			s.Status = int(integer(m.Value))
		case "first_token":
			s.FirstToken = time.Duration(integer(m.Value)) * time.Microsecond
		case "duration":
			s.Duration = time.Duration(integer(m.Value)) * time.Microsecond
		case "at_most":
			s.AtMost = llm.Money(integer(m.Value))
		case "margin":
			s.Margin = llm.Money(integer(m.Value))
		case "margin_uncertain":
			s.MarginUncertain = llm.Money(integer(m.Value))
		case "unpriced":
			s.Unpriced, err = classesOf(m.Value)
		case "charge_unpriced":
			s.ChargeUnpriced = new(llm.Classes)
			*s.ChargeUnpriced, err = classesOf(m.Value)
		case "provider_cost":
			s.ProviderCost = new(llm.Money(integer(m.Value)))
		case "billed":
			s.Billed = integer(m.Value) != 0
		case "reply_id":
			s.ReplyID = rawjson.Text(m.Value)
		}
	}, &err)
}

func classesOf(v []byte) (llm.Classes, error) {
	set, ok := llm.ParseClasses(strings.Fields(rawjson.Text(v)))
	if !ok {
		return 0, errDetails
	}
	return set, nil
}

var errDetails = errors.New("not a JSON object as weir writes it")

// members calls take with each member of the object until *err is set.
func members(text string, take func(rawjson.Member), err *error) error {
	b := []byte(text)
	if rawjson.Validate(b, 3) != nil || rawjson.KindOf(b) != rawjson.Object {
		return fmt.Errorf("details %q: %w", text, errDetails)
	}
	for m := range rawjson.Members(b) {
		if take(m); *err != nil {
			return *err
		}
	}
	return nil
}

func integer(v []byte) int64 {
	n, _ := rawjson.AsInt(v)
	return n
}
