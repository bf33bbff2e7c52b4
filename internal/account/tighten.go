package account

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Loosened is nil where a key may do no more after a change than before it, and else a
// *llm.Error with CodeForbidden that names what it may do more. Members change their keys
// so, since an owner or an operator may have set what is there.
func Loosened(before, after *Key) error {
	if err := firstOf(loosenedUse(&before.Limits, &after.Limits, before.Budget, after.Budget),
		loosenedPer(before.Per, after.Per)); err != nil {
		return err
	}
	isMissing := func(name string) bool { return !slices.Contains(after.Tags.Required, name) }
	isOther := func(t llm.Tag) bool { return !slices.Contains(after.Tags.Defaults, t) }
	switch {
	case slices.ContainsFunc(before.Tags.Defaults, isOther):
		return loosened("tags", "give it more tags than %s", llm.FormatTags(before.Tags.Defaults))
	case slices.ContainsFunc(before.Tags.Required, isMissing):
		return loosened("required_tags", "have it require more tags than %s", joined(before.Tags.Required))
	case before.Expires != nil && (after.Expires == nil || after.Expires.After(*before.Expires)):
		return loosened("expires", "let it expire before %s", before.Expires.Format("2006-01-02T15:04:05Z07:00"))
	case !isSubset(after.Permissions, before.Permissions):
		return loosened("permissions", "take permissions away from it, of %s", joined(before.Permissions))
	case len(before.Models) > 0 && !within(after.Models, before.Models):
		return loosened("models", "take models away from it, of %s", joined(before.Models))
	}
	return nil
}

// loosenedUse is what Loosened says of limits and a budget.
func loosenedUse(was, is *Limits, before, after Budget) error {
	looser := func(n, was int64) bool { return was > 0 && (n == 0 || n > was) }
	switch {
	case looser(is.RPM, was.RPM):
		return loosened("rpm", "lower its limit of %d requests a minute", was.RPM)
	case looser(is.TPM, was.TPM):
		return loosened("tpm", "lower its limit of %d tokens a minute", was.TPM)
	case looser(is.Concurrency, was.Concurrency):
		return loosened("concurrency", "lower its limit of %d requests at a time", was.Concurrency)
	case before.Limit > 0 && (after.Period != before.Period || looser(int64(after.Limit), int64(before.Limit))):
		// Another period would begin to count anew.
		return loosened("budget", "lower its budget of $%s, for the same period", before.Limit)
	}
	return nil
}

func joined[T ~string](list []T) string {
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = string(name)
	}
	return strings.Join(names, ", ")
}

func isSubset(some, all []Permission) bool {
	return !slices.ContainsFunc(some, func(p Permission) bool { return !slices.Contains(all, p) })
}

func loosened(param, may string, was any) error {
	message := fmt.Sprintf("Members may tighten what a key may do, and not loosen it: you may "+may+
		". Ask an owner of the account.", was)
	return &llm.Error{Code: llm.CodeForbidden, Message: message, Param: param}
}

// within reports whether the patterns fit no name that others do not fit. A pattern that
// fits another as it stands, stars and all, fits whatever that one does.
func within(patterns, others []string) bool {
	if len(patterns) == 0 { // all models
		return false
	}
	return !slices.ContainsFunc(patterns, func(p string) bool {
		return !slices.ContainsFunc(others, func(o string) bool { return llm.Matches(o, p) })
	})
}
