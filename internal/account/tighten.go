package account

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Loosened returns nil if a change gives a key no new rights, else a *llm.Error with CodeForbidden that names the first
// one. Members may change their keys only in this way, because an owner or an operator may have set the limits.
func Loosened(before, after *Key) error {
	if err := firstOf(loosenedUse(&before.Limits, &after.Limits, before.Budget, after.Budget),
		loosenedPer(before.Per, after.Per)); err != nil {
		return err
	}
	isMissing := func(name string) bool { return !slices.Contains(after.Tags.Required, name) }
	isOther := func(t llm.Tag) bool { return !slices.Contains(after.Tags.Defaults, t) }
	switch {
	case slices.ContainsFunc(before.Tags.Defaults, isOther):
		return loosened("tags", "add tags to %s", llm.FormatTags(before.Tags.Defaults))
	case slices.ContainsFunc(before.Tags.Required, isMissing):
		return loosened("required_tags", "require more tags than %s", joined(before.Tags.Required))
	case before.NoContent && !after.NoContent:
		return loosened("no_content", "keep the content of its requests out of the log: it is %t", true)
	case before.Expires != nil && (after.Expires == nil || after.Expires.After(*before.Expires)):
		return loosened("expires", "make it expire before %s", before.Expires.Format("2006-01-02T15:04:05Z07:00"))
	case !isSubset(after.Permissions, before.Permissions):
		return loosened("permissions", "remove permissions from %s", joined(before.Permissions))
	case len(before.Models) > 0 && !within(after.Models, before.Models):
		return loosened("models", "remove models from %s", joined(before.Models))
	}
	return nil
}

// loosenedUse is the part of Loosened for limits and a budget.
func loosenedUse(was, is *Limits, before, after Budget) error {
	looser := func(n, was int64) bool { return was > 0 && (n == 0 || n > was) }
	switch {
	case looser(is.RPM, was.RPM):
		return loosened("rpm", "lower its limit of %d requests a minute", was.RPM)
	case looser(is.TPM, was.TPM):
		return loosened("tpm", "lower its limit of %d tokens a minute", was.TPM)
	case looser(is.Concurrency, was.Concurrency):
		return loosened("concurrency", "lower its limit of %d concurrent requests", was.Concurrency)
	case before.Limit > 0 && (after.Period != before.Period || looser(int64(after.Limit), int64(before.Limit))):
		// Another period would restart the count.
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
	message := fmt.Sprintf("Members may restrict a key but not extend its rights: you may "+may+
		". Ask an owner of the account.", was)
	return &llm.Error{Code: llm.CodeForbidden, Message: message, Param: param}
}

// within reports whether others match every name that patterns match. A pattern that literally matches another one,
// including its stars, matches everything that the other one does.
func within(patterns, others []string) bool {
	if len(patterns) == 0 { // matches all models
		return false
	}
	return !slices.ContainsFunc(patterns, func(p string) bool {
		return !slices.ContainsFunc(others, func(o string) bool { return llm.Matches(o, p) })
	})
}
