package meter_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// groupedPage is a page of usage by groups.
type groupedPage struct {
	Data []struct {
		ID       string
		Date     *string
		Model    *string
		Group    map[string]*string
		Requests json.Number
	}
	Total, Pagination map[string]json.Number
}

// words formats the groups: name=value, a dash for null, by name.
func (p *groupedPage) words() []string {
	list := []string{}
	for _, e := range p.Data {
		var word []string
		for name, value := range e.Group {
			if value == nil {
				value = new("-")
			}
			word = append(word, name+"="+*value)
		}
		slices.Sort(word)
		list = append(list, strings.Join(append(word, e.Requests.String()), " "))
	}
	return list
}

func grouped(t *testing.T, h *harness.Gateway, query string) (p groupedPage) {
	t.Helper()
	r := h.Do(harness.Ask{Path: "/v1/uses" + query})
	if r.Status != http.StatusOK {
		t.Fatalf("%s: got %d %s", query, r.Status, r.Body)
	}
	must.Do(t, json.Unmarshal([]byte(r.Body), &p))
	return p
}

func TestUsesByGroups(t *testing.T) {
	t.Parallel()
	h := openThreeDays(t)
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: h.NewKey(account.KeyOptions{Account: "default"})}))
	hour := midnight(2).Add(time.Hour).Format(time.RFC3339)
	for query, want := range map[string][]string{
		"model":         {"model=house/chat 6", "model=house/echo 7", "model=house/reason 6"},
		"provider":      {"provider=house 19"},
		"day":           {"day=" + day(2) + " 10", "day=" + day(1) + " 6", "day=" + day(0) + " 3"},
		"model,+day":    {"day=" + day(2) + " model=house/chat 3", "day=" + day(2) + " model=house/echo 4"},
		"hour,provider": {"hour=" + hour + " provider=house 10"},
	} {
		p := grouped(t, h, "?group_by="+query+"&limit="+fmt.Sprint(len(want)))
		must.Equal(t, p.words(), want, "group_by=%s", query)
		if p.Total["requests"] != "19" {
			t.Errorf("group_by=%s: got %s requests in all, want 19", query, p.Total["requests"])
		}
		e := p.Data[0]
		if (e.Date != nil) != strings.Contains(query, "day") || (e.Model != nil) != strings.Contains(query, "model") {
			t.Errorf("group_by=%s: got date %v, model %v", query, e.Date, e.Model)
		}
	}
	byKey := grouped(t, h, "?group_by=key")
	if len(byKey.Data) != 2 || byKey.Pagination["total"] != "2" {
		t.Fatalf("group_by=key: got %v, want two keys", byKey.words())
	}
	for _, e := range byKey.Data {
		p := grouped(t, h, "?key="+*e.Group["key"])
		if p.Total["requests"] != e.Requests || p.Data[0].Group != nil || p.Data[0].Date == nil {
			t.Errorf("key=%s: got %v of %s requests, want %s", *e.Group["key"], p.Data[0], p.Total["requests"], e.Requests)
		}
	}
	if again := grouped(t, h, "?group_by=key"); again.Data[0].ID != byKey.Data[0].ID || again.Data[0].ID == again.Data[1].ID {
		t.Errorf("ids: got %+v, want %+v", again.Data, byKey.Data)
	}
	if p := grouped(t, h, "?group_by=model&key=nobody"); len(p.Data) != 0 {
		t.Errorf("key=nobody: got %v", p.words())
	}
}
