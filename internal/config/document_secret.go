package config

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// secretSection is a section with objects that have secrets.
type secretSection struct {
	name      string
	of        reflect.Type // of the objects
	addresses []string     // the members with the addresses to which the secrets are sent
}

func secretSections() []secretSection {
	return []secretSection{
		{"providers", reflect.TypeFor[Provider](), []string{"base_url"}},
		{"mcp_servers", reflect.TypeFor[MCPServer](), []string{"url", "token_url", "issuer"}},
	}
}

// Revealed replaces the texts that Hidden has written by the secrets of other documents. Such a text is replaced only
// by a secret of the provider or MCP server with the same name at the same host, so that nobody can send a key that
// they have never seen to another host.
func (d Document) Revealed(others ...Document) (Document, error) {
	type place struct{ section, name, text string }
	known := map[place]string{}
	for _, o := range others {
		_, _ = o.withSecrets(func(s *secretSection, name, text string) (string, error) {
			if sameHosts(d.fields(s.name, name), o.fields(s.name, name), s.addresses) {
				known[place{s.name, name, hide(text)}] = text
			}
			return text, nil
		})
	}
	return d.withSecrets(func(s *secretSection, name, text string) (string, error) {
		if !strings.HasPrefix(text, sealedPrefix) {
			return text, nil
		}
		secret, ok := known[place{s.name, name, text}]
		if !ok {
			return "", fmt.Errorf("%s is not the text of a current key of this name at this host: write the key "+
				"itself, or ${NAME}, or ${file:/path}", text)
		}
		return secret, nil
	})
}

// provider returns a provider of the document; nil if there is none.
func (d Document) provider(name string) map[string]any { return d.fields("providers", name) }

// fields returns the members of an object; nil if there is none.
func (d Document) fields(section, name string) map[string]any {
	fields, _ := d[section][name].(map[string]any)
	return fields
}

// sameHosts reports whether two objects of the same name send their secrets to the same hosts.
func sameHosts(a, b map[string]any, addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(address string) bool { return !sameHost(a, b, address) })
}

// sameHost reports whether two objects of the same name have the same scheme, host and port. Without a base_url in
// either, both providers use the catalogue's.
func sameHost(a, b map[string]any, address string) bool {
	one, other := textOf(a[address]), textOf(b[address])
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
	_, _ = one.withSecrets(func(_ *secretSection, _, text string) (string, error) {
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
	next := d.Clone()
	for _, section := range secretSections() {
		members := fieldKeys(section.of)
		for name := range d[section.name] {
			fields := maps.Clone(d.fields(section.name, name))
			maps.DeleteFunc(fields, func(key string, _ any) bool { return !slices.Contains(members, key) })
			for _, member := range section.addresses {
				if address := textOf(fields[member]); strings.ContainsAny(address, "@?#") {
					fields[member] = hide(address)
				}
			}
			next[section.name][name] = fields
		}
	}
	return next
}

// withSecrets returns the document with every secret replaced by the result of replace.
func (d Document) withSecrets(replace func(s *secretSection, name, text string) (string, error)) (Document, error) {
	next, sections := d.Clone(), secretSections()
	for i := range sections {
		section := &sections[i]
		for name, value := range d[section.name] {
			fields, ok := value.(map[string]any)
			if !ok {
				continue
			}
			fields = maps.Clone(fields)
			for key := range secretKeys(section.of) {
				replaced, err := replaceTexts(fields[key], func(text string) (string, error) {
					return replace(section, name, text)
				})
				if err != nil {
					return nil, fmt.Errorf("%s.%s.%s: %w", section.name, name, key, err)
				}
				if replaced != nil {
					fields[key] = replaced
				}
			}
			next[section.name][name] = fields
		}
	}
	return next, nil
}
