package pricing

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// IsModel reports whether a provider that names the model of its answer has answered with the requested model, perhaps
// under another name: with a date or version, as a member of the family of a name with "-latest", or by a name that the
// price data has for the same model. A router, which chooses a model itself, and a name that the operator chose, answer
// with any model.
func (b *Book) IsModel(provider, asked, served string) bool {
	if asked == served {
		return true
	}
	e := b.entry(provider, asked)
	if last := e.served.Load(); last != nil && last.name == served {
		return last.isAsked
	}
	is := b.isModel(b.list(provider), fold(asked), fold(served))
	if len(served) <= maxNameSize { // the name is a slice of a reply, which must not be retained
		e.served.Store(&servedName{strings.Clone(served), is})
	}
	return is
}

// servedName is the last name under which a provider has answered for a model, and whether it is that model.
type servedName struct {
	name    string
	isAsked bool
}

// isModel is IsModel for different folded names in a vendor's list.
func (b *Book) isModel(list, asked, served string) bool {
	switch {
	case isRouter(list, asked):
		return true
	case len(asked) > maxNameSize || len(served) > maxNameSize: // the work grows with the square of the length
		return false
	}
	one, other := bareName(list, asked), bareName(list, served)
	if one == other {
		return true
	}
	found, same := b.find(list, asked), b.find(list, served)
	if found.model != nil && found.model == same.model && same.basis != llm.BasisFamily {
		return true
	}
	return sameWords(one, other, strings.Contains(asked, "latest"))
}

// bareName returns a folded name of a vendor's list without path, variant, date and version. Bedrock's names begin with
// the maker, "anthropic.", which the maker's own answers there lack.
func bareName(list, name string) string {
	name = plainName(withoutVariant(withoutPath(name)))
	maker, model, dotted := strings.Cut(name, ".")
	if list == "aws" && dotted && strings.Trim(maker, "abcdefghijklmnopqrstuvwxyz") == "" {
		return plainName(model)
	}
	return name
}

// isRouter reports whether a folded name in a vendor's list stands for any model:
//   - Azure: deployments have names of the operator's, and model-router chooses a model
//     (https://learn.microsoft.com/azure/ai-foundry/openai/concepts/model-router)
//   - Bedrock: the ARN of a resource of the operator's, such as an application inference profile, ends with an id
//     (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-create.html)
//   - DeepSeek: its two first names stand for its current models (https://api-docs.deepseek.com/quick_start/pricing)
//   - OpenRouter: https://openrouter.ai/docs/features/model-routing, and presets
//     (https://openrouter.ai/docs/features/presets)
//
// All are undated copies of 2026.
func isRouter(list, name string) bool {
	switch list {
	case "azure":
		return true
	case "aws":
		return strings.HasPrefix(name, "arn:") && !strings.Contains(name, ":foundation-model/") &&
			!strings.Contains(name, ":inference-profile/")
	case "deepseek":
		return name == "deepseek-chat" || name == "deepseek-reasoner"
	case "openrouter":
		return strings.HasPrefix(name, "openrouter/") || strings.HasPrefix(name, "@preset/") ||
			strings.HasSuffix(name, "/router")
	}
	return name == "auto" || name == "model-router"
}

// sameWords reports whether two names have the same words in any order, apart from dates and stages of a release:
// "claude-haiku-4.5" is "claude-4.5-haiku". With latest, the second name may have further numbers.
func sameWords(asked, served string, latest bool) bool {
	one, other := wordsOf(asked), wordsOf(served)
	for _, word := range one {
		i := slices.Index(other, word)
		if i < 0 {
			return false
		}
		other = slices.Delete(other, i, i+1)
	}
	return len(other) == 0 || latest && !slices.ContainsFunc(other, func(word string) bool {
		return strings.Trim(word, "v0123456789") != ""
	})
}

// wordsOf splits a name into its words and numbers, without dates and stages.
func wordsOf(name string) []string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-._ /", r) })
	return slices.DeleteFunc(words, func(word string) bool {
		isDate := len(word) >= len("0613") && strings.Trim(word, "0123456789") == ""
		return isDate || slices.Contains([]string{"latest", "preview", "exp", "beta"}, word)
	})
}
