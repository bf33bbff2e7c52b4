package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/internal/credential"
	"weir/internal/dialect/registry"
	"weir/internal/llm"
)

func (ch *checker) checkProvider(p *Provider) {
	path := join("providers", p.Name)
	if !isProviderName(p.Name) {
		ch.report(path, "a provider's name must be at most %d lower-case letters, digits, dashes, underscores and "+
			"dots, not %s%s", maxProviderName, strconv.Quote(clip(p.Name, maxQuote)), lowerHint(p.Name))
	}
	if strings.HasPrefix(p.Name, MCPPrefix) {
		ch.report(path, "a provider's name must not begin with %s, as the names of MCP servers do in reports",
			ticks(MCPPrefix))
	}
	dialects := registry.All().OfProviders()
	if p.Dialect != "" {
		ch.checkWord(join(path, "dialect"), p.Dialect, dialects)
	}
	for i, also := range p.Also {
		ch.checkWord(join(path, "also")+"["+strconv.Itoa(i)+"]", also, dialects)
	}
	if p.BaseURL != "" {
		p.WrittenURL = ch.originOf(join(path, "base_url")).written
		p.BaseURL = ch.checkHTTP(join(path, "base_url"), p.BaseURL, "set `api_keys` instead")
	}
	if p.Prefill != "" {
		ch.checkWord(join(path, "prefill"), p.Prefill, []string{"yes", "no"})
	}
	checkCacheMarks(ch, path, p.CacheMarks)
	if p.Counter != "" {
		ch.checkWord(join(path, "counter"), p.Counter, append(registry.All().Counters(), "none"))
	}
	if p.BillsAfterDisconnect != "" {
		ch.checkWord(join(path, "bills_after_disconnect"), p.BillsAfterDisconnect, []string{"yes", "no"})
	}
	if p.BillBy != "" {
		ch.checkWord(join(path, "bill_by"), p.BillBy, []string{"computed", "provider"})
	}
	ch.checkKeys(join(path, "api_keys"), p.APIKeys)
	ch.checkAdminKey(join(path, "admin_key"), p.AdminKey)
	if p.Auth != "" {
		ch.checkAuth(path, p)
	}
	ch.checkModelList(join(path, "models"), p.Models)
	ch.checkTimeouts(join(path, "timeouts"), &p.Timeouts)
	if r := p.Retries; r != nil && (*r < 0 || *r > maxRetries) {
		ch.report(join(path, "retries"), "`retries` must be 0 to %d, not %d", maxRetries, *r)
	}
}

func isProviderName(name string) bool {
	for i, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && strings.IndexByte("-_.", c) >= 0 {
			continue
		}
		return false
	}
	return name != "" && len(name) <= maxProviderName
}

func lowerHint(name string) string {
	if lower := strings.ToLower(name); isProviderName(lower) {
		return fmt.Sprintf("; did you mean `%s`?", lower)
	}
	return ""
}

// checkKeys requires distinct keys that are valid in an HTTP header.
func (ch *checker) checkKeys(path string, keys []llm.Secret) {
	for i, k := range keys {
		p := index(path, i)
		switch text := k.Reveal(); {
		case text == "":
			ch.report(p, "an API key is empty; set or remove it")
		case strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }):
			ch.report(p, "an API key contains white space or a character that is invalid in an HTTP header")
		default:
			if j := slices.IndexFunc(keys[:i], k.Equal); j >= 0 {
				ch.report(p, "the API key is the same as entry %d; remove one", j+1)
			}
		}
	}
}

// checkAdminKey requires a key that is valid in an HTTP header.
func (ch *checker) checkAdminKey(path string, k llm.Secret) {
	if strings.ContainsFunc(k.Reveal(), func(c rune) bool { return c <= ' ' || c > '~' }) {
		ch.report(path, "an admin key contains white space or a character that is invalid in an HTTP header")
	}
}

// checkAuth requires a scheme that fits the keys.
func (ch *checker) checkAuth(path string, p *Provider) {
	auth, auths := credential.Scheme(p.Auth), []string(nil)
	for _, s := range credential.Schemes() {
		auths = append(auths, string(s))
	}
	ch.checkWord(join(path, "auth"), p.Auth, auths)
	if auth == credential.None && len(p.APIKeys) > 0 {
		ch.report(join(path, "auth"), "`auth: none` sends no key, but there are `api_keys`; remove one of the two")
	}
	for i, k := range p.APIKeys {
		if auth.IsAccessKey(k.Reveal()) {
			ch.report(index(join(path, "api_keys"), i),
				"an Amazon Bedrock API key has no colon; set access keys in the environment or a profile, not "+
					"in `api_keys`")
		}
	}
}

func (ch *checker) checkModelList(path string, models []string) {
	for i, m := range models {
		switch {
		case !isModelName(m):
			ch.report(index(path, i), "a model's name must be one word, not %s", ch.quote(index(path, i), m))
		case slices.Contains(models[:i], m):
			ch.report(index(path, i), "model %s appears twice: remove one", ch.quote(index(path, i), m))
		}
	}
}

func (ch *checker) checkTimeouts(path string, t *Timeouts) {
	for key, d := range map[string]time.Duration{
		"connect": t.Connect, "first_byte": t.FirstByte, "idle": t.Idle, "total": t.Total,
	} {
		if p := join(path, key); d < 0 || d == 0 && ch.isSet(p) {
			ch.report(p, "the timeout `%s` must be above zero; remove it for the default", key)
		}
	}
}

// isModelName reports whether a name is valid after the slash.
func isModelName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsPrint(c)
	})
}

// isFullName reports whether a name is <provider>/<model-name>.
func isFullName(name string) bool {
	provider, model, _ := strings.Cut(name, "/")
	return isProviderName(provider) && isModelName(model)
}
