package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// field is a member of a body and the function that reads its value. The value is valid JSON; at is its path in the
// body, for errors.
type field struct {
	name string
	read func(at string, v []byte) error
}

// readFields reads the members of an object. It refuses unknown members, and suggests the nearest known name. At is
// the object's own path, empty for the whole body. The error is a *llm.Error.
func readFields(at string, object []byte, fields ...field) error {
	names := make(rawjson.Names, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	var seen rawjson.Seen
	for m := range rawjson.Members(object) {
		place := strings.TrimPrefix(at+"."+m.Name(), ".")
		i, err := names.Find(m, &seen)
		if err != nil {
			return llm.Invalidf(place, "The field is malformed: %v.", err)
		}
		if i < 0 {
			return unknownName("field", place, m.Name(), names)
		}
		if err := fields[i].read(place, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// unknownName refuses an unknown name.
func unknownName(what, place, name string, names rawjson.Names) error {
	hint := "Leave it out: no " + what + "s are accepted here."
	if near, ok := names.Nearest(name); ok {
		hint = fmt.Sprintf("Did you mean %q?", near)
	} else if len(names) > 0 {
		hint = "Use one of " + strings.Join(names, ", ") + "."
	}
	return llm.Invalidf(place, "%.100q is not a %s here. %s", name, what, hint)
}

func wrongKind(at, want string) error {
	return llm.Invalidf(at, "%s must be %s.", at, want)
}

// isNull reports whether the value removes a member.
func isNull(v []byte) bool { return rawjson.KindOf(v) == rawjson.Null }

// text reads a string.
func text[T ~string](dst *T) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		s, ok := rawjson.AsString(v)
		if !ok {
			return wrongKind(at, "a string")
		}
		if !llm.IsText(s) {
			return wrongKind(at, "a string without the character U+0000")
		}
		*dst = T(s)
		return nil
	}
}

// flag reads true or false.
func flag(dst **bool) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		b, ok := rawjson.AsBool(v)
		if !ok {
			return wrongKind(at, "true or false")
		}
		*dst = &b
		return nil
	}
}

// percent reads an integer from 0 to 100.
func percent(dst *int64) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		n, ok := rawjson.AsInt(v)
		if !ok || n < 0 || n > 100 {
			return wrongKind(at, "an integer from 0 to 100")
		}
		*dst = n
		return nil
	}
}

// count reads an integer of at least 0; null is 0.
func count(dst *int64) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		n, ok := rawjson.AsInt(v)
		if isNull(v) {
			n, ok = 0, true
		}
		if !ok || n < 0 {
			return wrongKind(at, "an integer from 0, where 0 means no limit")
		}
		*dst = n
		return nil
	}
}

// texts reads a list of strings; null is an empty list.
func texts[T ~string](dst *[]T) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		*dst = []T{}
		if isNull(v) {
			return nil
		}
		if rawjson.KindOf(v) != rawjson.Array {
			return wrongKind(at, "a list of strings")
		}
		for i, e := range rawjson.Elements(v) {
			var one T
			if err := text(&one)(fmt.Sprintf("%s[%d]", at, i), e); err != nil {
				return err
			}
			*dst = append(*dst, one)
		}
		return nil
	}
}

// tagsField reads an object of tags.
func tagsField(dst *[]llm.Tag) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if isNull(v) {
			*dst = nil
			return nil
		}
		if rawjson.KindOf(v) != rawjson.Object {
			return wrongKind(at, "an object of strings")
		}
		for m := range rawjson.Members(v) {
			t := llm.Tag{Name: m.Name()}
			isIt := func(o llm.Tag) bool { return o.Name == t.Name }
			if isNull(m.Value) {
				*dst = slices.DeleteFunc(slices.Clone(*dst), isIt)
				continue
			}
			if err := text(&t.Value)(at+"."+t.Name, m.Value); err != nil {
				return err
			}
			if i := slices.IndexFunc(*dst, isIt); i >= 0 {
				*dst = slices.Clone(*dst)
				(*dst)[i] = t
				continue
			}
			if len(*dst) > 2*llm.MaxTags { // because later members may remove some
				return llm.Invalidf(at, "A key has at most %d tags. Leave some out.", llm.MaxTags)
			}
			*dst = append(*dst, t)
		}
		return nil
	}
}

// amount reads US dollars from a string, because many parsers read numbers as floats.
func amount(dst *llm.Money) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		s, ok := rawjson.AsString(v)
		m, err := llm.ParseMoney(s)
		if !ok || err != nil {
			return wrongKind(at, `an amount of US dollars as a string with at most nine decimals, such as "12.50"`)
		}
		*dst = m
		return nil
	}
}

// instant reads an RFC 3339 time; null is the zero time.
func instant(dst *time.Time) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if isNull(v) {
			*dst = time.Time{}
			return nil
		}
		t, err := time.Parse(time.RFC3339, rawjson.Text(v))
		if err != nil {
			return wrongKind(at, `an RFC 3339 time such as "2027-01-31T12:00:00Z", or null`)
		}
		*dst = t.UTC()
		return nil
	}
}

// limitsField reads limits; missing members stay unchanged. Null removes all limits.
func limitsField(dst *account.Limits) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if isNull(v) {
			*dst = account.Limits{}
			return nil
		}
		if rawjson.KindOf(v) != rawjson.Object {
			return wrongKind(at, "an object with rpm, tpm or concurrency, or null")
		}
		return readFields(at, v, field{"rpm", count(&dst.RPM)}, field{"tpm", count(&dst.TPM)},
			field{"concurrency", count(&dst.Concurrency)})
	}
}

// budgetField reads a budget; missing members stay unchanged. Null removes the budget.
func budgetField(dst *account.Budget) func(at string, v []byte) error {
	return func(at string, v []byte) error {
		if isNull(v) {
			*dst = account.Budget{}
			return nil
		}
		if rawjson.KindOf(v) != rawjson.Object {
			return wrongKind(at, "an object with limit_usd and period, or null")
		}
		if err := readFields(at, v, field{"limit_usd", amount(&dst.Limit)},
			field{"period", text(&dst.Period)}); err != nil {
			return err
		}
		return checkBudgetFields(at, *dst)
	}
}

// checkBudgetFields refuses an invalid budget, with the path of the wrong member.
func checkBudgetFields(at string, b account.Budget) error {
	switch {
	case b.Limit <= 0:
		return wrongKind(at+".limit_usd",
			`an amount of US dollars above 0, such as "12.50"; to remove the budget, send null for all of it`)
	case b.Period != budget.PeriodDay && b.Period != budget.PeriodMonth && b.Period != budget.PeriodTotal:
		return wrongKind(at+".period", fmt.Sprintf("%q, %q or %q", budget.PeriodDay, budget.PeriodMonth,
			budget.PeriodTotal))
	}
	return nil
}
