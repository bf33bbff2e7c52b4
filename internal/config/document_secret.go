package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Revealed replaces the texts that Hidden has written by the secrets of other documents. Such a text is replaced only
// by a secret of the provider with the same name at the same host, so that nobody can send a key that they have never
// seen to another host.
func (d Document) Revealed(others ...Document) (Document, error) {
	type place struct{ provider, text string }
	known := map[place]string{}
	for _, o := range others {
		_, _ = o.withSecrets(func(name, text string) (string, error) {
			if sameHost(d.provider(name), o.provider(name)) {
				known[place{name, hide(text)}] = text
			}
			return text, nil
		})
	}
	return d.withSecrets(func(name, text string) (string, error) {
		if !strings.HasPrefix(text, sealedPrefix) {
			return text, nil
		}
		secret, ok := known[place{name, text}]
		if !ok {
			return "", fmt.Errorf("%s is not the text of a current key of this provider at this host: write the key "+
				"itself, or ${NAME}, or ${file:/path}", text)
		}
		return secret, nil
	})
}

// provider returns a provider of the document; nil if there is none.
func (d Document) provider(name string) map[string]any {
	fields, _ := d["providers"][name].(map[string]any)
	return fields
}

// sameHost reports whether two providers of the same name have the same scheme, host and port. Without a base_url in
// either, both use the catalogue's.
func sameHost(a, b map[string]any) bool {
	one, other := textOf(a["base_url"]), textOf(b["base_url"])
	if one == other {
		return true
	}
	if strings.Contains(one+other, "$") {
		return false // the value of a reference is unknown here
	}
	from, err := url.Parse(one)
	to, otherErr := url.Parse(other)
	return err == nil && otherErr == nil && from.Host != "" && strings.EqualFold(from.Scheme, to.Scheme) &&
		strings.EqualFold(from.Host, to.Host)
}

// textOf returns a scalar as a text; empty for nil.
func textOf(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// Typed returns the secrets of a provider that the document contains literally, not by reference.
func (d Document) Typed(provider string) (all []string) {
	one := Document{"providers": {provider: d.provider(provider)}}
	_, _ = one.withSecrets(func(_, text string) (string, error) {
		if !strings.Contains(text, "$") {
			all = append(all, text)
		}
		return text, nil
	})
	return all
}

// NewReference returns the first member of a provider with a reference (${NAME}, ${file:/path}) that no saved document
// has in the same member of the same provider; empty if there is none.
func (d Document) NewReference(provider string, saved ...Document) string {
	fields := d.provider(provider)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		known := map[string]bool{}
		for _, s := range saved {
			eachText(s.provider(provider)[key], func(text string) { known[text] = true })
		}
		isNew := false
		eachText(fields[key], func(text string) { isNew = isNew || strings.Contains(text, "${") && !known[text] })
		if isNew {
			return key
		}
	}
	return ""
}

// eachText calls do with every scalar of a value, as a text.
func eachText(v any, do func(string)) {
	switch x := v.(type) {
	case nil:
	case []any:
		for _, item := range x {
			eachText(item, do)
		}
	case map[string]any:
		for _, item := range x {
			eachText(item, do)
		}
	default:
		do(fmt.Sprint(x))
	}
}

// Recordable returns the document in the form that the audit log may store before it is checked: without unknown
// members and without credentials in addresses, because either may contain a misplaced secret.
func (d Document) Recordable() Document {
	next, members := d.Clone(), fieldKeys(reflect.TypeFor[Provider]())
	for name := range d["providers"] {
		fields := maps.Clone(d.provider(name))
		maps.DeleteFunc(fields, func(key string, _ any) bool { return !slices.Contains(members, key) })
		if address := textOf(fields["base_url"]); strings.ContainsAny(address, "@?#") {
			fields["base_url"] = hide(address)
		}
		next["providers"][name] = fields
	}
	return next
}

// withSecrets returns the document with every secret replaced by the result of replace.
func (d Document) withSecrets(replace func(provider, text string) (string, error)) (Document, error) {
	next := d.Clone()
	for name, value := range d["providers"] {
		fields, ok := value.(map[string]any)
		if !ok {
			continue
		}
		fields = maps.Clone(fields)
		for key := range secretKeys(reflect.TypeFor[Provider]()) {
			replaced, err := replaceTexts(fields[key], func(text string) (string, error) { return replace(name, text) })
			if err != nil {
				return nil, fmt.Errorf("providers.%s.%s: %w", name, key, err)
			}
			if replaced != nil {
				fields[key] = replaced
			}
		}
		next["providers"][name] = fields
	}
	return next, nil
}
