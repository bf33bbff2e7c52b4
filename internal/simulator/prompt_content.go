package simulator

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/promptcache"
	"weir/internal/rawjson"
)

// content is a prompt that a client has stored by itself, as in Gemini's API, and that requests name.
type content struct {
	tokens int64
	until  time.Time
}

// maxContents bounds the stored contents.
const maxContents = 1 << 10

// createContent answers POST /v1beta/cachedContents, Gemini's explicit cache:
// https://ai.google.dev/gemini-api/docs/caching?lang=go (undated copy of early 2026).
func (s *Server) createContent(d *dialect.Dialect, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	key := fingerprint(keyOf(r))
	body, err := io.ReadAll(io.LimitReader(r.Body, s.maxBody))
	if err == nil {
		body, err = s.storeContent(d, key, body)
	}
	if err != nil {
		e := llm.AsError(err)
		w.WriteHeader(d.Status(e.Code))
		body = d.EncodeError(nil, e, "")
	}
	_, _ = w.Write(body) // the client may be gone
}

// storeContent stores a content of a key, and returns the answer.
func (s *Server) storeContent(d *dialect.Dialect, key string, body []byte) ([]byte, error) {
	req, err := d.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	model := rawjson.Text(rawjson.Get(body, "model"))
	rule, _ := promptcache.RuleOf(d.Name, model)
	p := promptOf(req, &rule, tokensPerMedia, false)
	if p.total < rule.Least {
		return nil, llm.Errorf(llm.CodeInvalidRequest, "Cached content is too small. total_token_count=%d, "+
			"min_total_token_count=%d", p.total, rule.Least)
	}
	life := promptcache.Long // without another choice of the client
	if text := rawjson.Text(rawjson.Get(body, "ttl")); text != "" {
		if life, err = time.ParseDuration(text); err != nil || life <= 0 {
			return nil, llm.Invalidf("ttl", "Invalid ttl %q. Send a duration such as 300s.", text)
		}
	}
	until := s.clock().Add(life)
	name := "cachedContents/" + hex16(hash(s.seed, body, []byte(key)))
	s.cache.add(key, name, content{p.total, until})
	o := object{[]byte{'{'}}
	o.text("name", name)
	o.text("model", model)
	o.time("expireTime", until)
	o.raw("usageMetadata", fmt.Sprintf(`{"totalTokenCount":%d}`, p.total))
	return append(o.b, '}'), nil
}

// add stores a content of a key. It forgets all if there are too many.
func (c *promptCache) add(key, name string, one content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.contents == nil || len(c.contents) >= maxContents {
		c.contents = map[string]content{}
	}
	c.contents[key+" "+name] = one
}

// named returns the content of a key that a request names. It reports whether the request names one.
func (c *promptCache) named(key string, req *llm.Request) (one content, names bool, err error) {
	for _, f := range req.Extra {
		if f.Name != "cachedContent" || !rawjson.Present(f.Value) {
			continue
		}
		c.mu.Lock()
		one, there := c.contents[key+" "+rawjson.Text(f.Value)]
		c.mu.Unlock()
		if !there || !c.clock().Before(one.until) {
			return one, true, llm.Errorf(llm.CodeForbidden, "CachedContent not found (or permission denied)")
		}
		return one, true, nil
	}
	return one, false, nil
}
