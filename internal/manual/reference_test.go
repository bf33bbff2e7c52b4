package manual_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir"
	"weir/internal/manual"
	"weir/internal/must"
)

// describedAPI is an OpenAPI document with an operation at two paths, and an event.
const describedAPI = `{"openapi": "3.1.0", "info": {"description": "About all."},
"tags": [{"name": "Things", "description": "All | things."}, {"name": "Events"}, {"name": "None"}],
"paths": {
 "/v1/things/{thing}": {"put": {"tags": ["Things"], "summary": "Set a thing.", "x-right": "operate",
  "parameters": [{"$ref": "#/components/parameters/Thing"}, {"name": "limit", "in": "query", "description": "The most entries", "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3}}],
  "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
  "responses": {"200": {"description": "Done.", "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}},
   "404": {"$ref": "#/components/responses/None"}, "410": {"$ref": "#/components/responses/None"}}}},
 "/things/{thing}": {"put": {"tags": ["Things"], "summary": "Set a thing.", "responses": {}}},
 "/open": {"get": {"tags": ["Things", "Events"], "summary": "Read.", "security": [], "responses": {}}}},
"webhooks": {"thing.made": {"post": {"tags": ["Events"], "summary": "A thing was made.",
  "requestBody": {"content": {"application/json": {"example": {"id": 1}}}}, "responses": {"2XX": {"description": "OK."}}}}},
"components": {
 "parameters": {"Thing": {"name": "thing", "in": "path", "required": true, "description": "Its name", "schema": {"type": "string"}}},
 "responses": {"None": {"description": "There is none."}},
 "schemas": {"Thing": {"type": "object", "required": ["size", "inner", "state"], "properties": {
  "size": {"type": "integer", "minimum": 2}, "note": {"type": ["string", "null"], "description": "Words: a|b"},
  "inner": {"type": "object", "required": ["names"], "properties": {"names": {"type": "array", "items": {"type": "string"}}}},
  "state": {"enum": ["on", "off"]}, "like": {"$ref": "#/components/schemas/Thing"}}}}}}`

// TestReferenceIsDrawnFromDescription checks the pages of the API's reference: operations, fields, examples, links.
func TestReferenceIsDrawnFromDescription(t *testing.T) {
	t.Parallel()
	s := must.Get(manual.New(manual.Options{
		Documents: weir.Documents, API: func() ([]byte, error) { return []byte(describedAPI), nil },
		Theme: func(*http.Request) string { return "" }, Log: slog.New(slog.DiscardHandler),
	}))(t)
	for path, want := range map[string][]string{
		"/docs/api/things": {
			"<h1 id=\"api-things\">API: Things</h1>", `<h2 id="set-a-thing">Set a thing <a class="anchor" href="#set-a-thing"`,
			"<code>PUT /v1/things/{thing}</code>, <code>PUT /things/{thing}</code>", "the right <code>operate</code>",
			"<td><code>thing</code></td>\n<td>string, path</td>\n<td>Its name.</td>", "The most entries. 1 to 9, default <code>3</code>.",
			"<td><code>inner.names</code></td>\n<td>list of string</td>\n<td>Required.</td>", "Words: a|b.",
			"<code>&quot;on&quot;</code>, <code>&quot;off&quot;</code>", `list of <a href="#thing">Thing</a>`, `<h3 id="thing">Thing`,
			"<td>404, 410</td>\n<td>There is none.</td>", "No key is needed.", `<pre tabindex="0" id="code-1">`, `data-copy="code-1"`,
			"curl -X PUT &quot;$WEIR_URL/v1/things/THING&quot;", "Bearer $WEIR_KEY", "&quot;size&quot;: 2", "&quot;NAME&quot;", "&quot;state&quot;: &quot;on&quot;",
			"curl &quot;$WEIR_URL/open&quot;\n",
		},
		"/docs/api/events":           {"<code>thing.made</code>", "{&quot;id&quot;: 1}"},
		"/docs/api":                  {`<a href="/docs/api/things#set-a-thing">Set a thing</a>`, "About all.", `<a href="/docs/api/events">Events</a>`},
		"/docs/search?q=set+a+thing": {`<a href="/docs/api/things#set-a-thing">`},
	} {
		w := ask(s, path)
		for _, text := range want {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: got %d without %s in\n%s", path, w.Code, text, regexp.MustCompile(`(?s).*<main`).ReplaceAllString(w.Body.String(), ""))
			}
		}
	}
	if w := ask(s, "/docs/api/none"); w.Code != http.StatusNotFound {
		t.Errorf("a tag without operations: got %d, want 404", w.Code)
	}
	if !json.Valid([]byte(describedAPI)) {
		t.Error("the description is no JSON")
	}
}

// TestSearchFindsGuidesFirst checks questions of readers against the real documents.
func TestSearchFindsGuidesFirst(t *testing.T) {
	t.Parallel()
	s := newServer(t, weir.Documents)
	link := regexp.MustCompile(`<li><a href="([^"]*)">`)
	for query, want := range map[string]string{
		"429":                   "/docs/troubleshooting#429-rate_limited",
		"MODEL_NOT_FOUND":       "/docs/troubleshooting#404-model_not_found",
		"budgt":                 "/docs/limits#budgets",
		"how to add a provider": "/docs/providers#add-a-provider",
		"restore a backup":      "/docs/backup",
		"api key rotate":        "",
	} {
		body := ask(s, "/docs/search?q="+strings.ReplaceAll(query, " ", "+")).Body.String()
		found := link.FindAllStringSubmatch(body[strings.Index(body, "<article"):], 6)
		var got []string
		for _, m := range found {
			got = append(got, m[1])
		}
		if len(got) == 0 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q: got %q, want %s first", query, got, want)
		}
		t.Log(query, got)
	}
}
