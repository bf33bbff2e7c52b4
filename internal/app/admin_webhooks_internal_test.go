package app

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
)

// hooked returns a staff with an endpoint of each account and one of the installation, each with a delivery.
func hooked(t *testing.T) (s *staff, ids, deliveries map[string]string) {
	t.Helper()
	s = newStaff(t)
	ids, deliveries = map[string]string{}, map[string]string{}
	for name, base := range map[string]string{"acme": "/accounts/acme/webhooks", "other": "/accounts/other/webhooks", "all": "/webhooks"} {
		ids[name], _ = s.want(201, "operator", "POST "+base, `{"url":"https://hooks.example.com/`+name+`"}`)["id"].(string)
		deliveries[name], _ = s.want(202, "operator", "POST "+base+"/"+ids[name]+"/test", "")["id"].(string)
	}
	return s, ids, deliveries
}

// TestAdministrationOfOthersWebhooks sends every request about an endpoint to paths of others: there it does not exist,
// for any person.
func TestAdministrationOfOthersWebhooks(t *testing.T) {
	t.Parallel()
	s, ids, deliveries := hooked(t)
	asked := 0
	for _, route := range s.site.api.Admin.Routes() {
		if !strings.Contains(route.Pattern, "{webhook}") {
			continue
		}
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		ask := func(who, account, hook, delivery string) {
			t.Helper()
			path := strings.NewReplacer("/admin/v1", "", "{account}", account, "{webhook}", hook, "{delivery}", delivery).Replace(pattern)
			body := ""
			if method == http.MethodPatch {
				body = `{"disabled":true,"url":"https://evil.example/"}`
			}
			asked++
			s.want(404, who, method+" "+path, body)
		}
		ofAccount, ofDelivery := strings.Contains(pattern, "{account}"), strings.Contains(pattern, "{delivery}")
		for _, hook := range []string{"acme", "other", "all"} {
			switch {
			case ofAccount && hook != "acme":
				ask("owner", "acme", ids[hook], deliveries[hook])
				ask("operator", "acme", ids[hook], deliveries[hook])
				if ofDelivery {
					ask("owner", "acme", ids["acme"], deliveries[hook])
				}
			case ofAccount:
				ask("stranger", "acme", ids[hook], deliveries[hook])
				ask("stranger", "other", ids[hook], deliveries[hook])
			case hook != "all":
				ask("operator", "", ids[hook], deliveries[hook])
			}
		}
		for _, nothing := range []string{"nothing", "019aa39e-51f1-7b3c-9d40-6a2f0c1e8b77"} {
			ask("operator", "acme", nothing, nothing)
		}
	}
	if asked < 100 {
		t.Errorf("got %d calls, want more than 100", asked)
	}
	for name, base := range map[string]string{"acme": "/accounts/acme/webhooks/", "other": "/accounts/other/webhooks/", "all": "/webhooks/"} {
		e := s.want(200, "operator", "GET "+base+ids[name], "")
		if e["url"] != "https://hooks.example.com/"+name || e["state"] != "active" {
			t.Errorf("the endpoint of %s after it: got %v, want it as it was", name, e)
		}
		s.want(200, "operator", "GET "+base+ids[name]+"/deliveries/"+deliveries[name], "")
	}
}

// TestAdministrationOfPrivateWebhooks checks who may set an endpoint to a private address.
func TestAdministrationOfPrivateWebhooks(t *testing.T) {
	t.Parallel()
	s, ids, _ := hooked(t)
	one := "/accounts/acme/webhooks/" + ids["acme"]
	const private = `{"url":"http://10.0.0.1/","allow_private":true}`
	if got := s.want(403, "owner", "POST /accounts/acme/webhooks", private); got["param"] != "allow_private" || !strings.Contains(got["detail"].(string), "operators") {
		t.Errorf("an owner's: got %v, want who may", got)
	}
	s.want(403, "owner", "PATCH "+one, private)
	s.want(200, "operator", "PATCH "+one, private)
	if got := s.want(200, "owner", "PATCH "+one, `{"events":["key.created"],"url":"http://10.0.0.1/"}`); got["allow_private"] != true {
		t.Errorf("after an owner chose events: got %v, want it on the private address yet", got)
	}
	s.want(400, "owner", "PATCH "+one, `{"url":"http://10.0.0.2/"}`)
	if got := s.want(200, "owner", "PATCH "+one, `{"url":"https://hooks.example.com/"}`); got["allow_private"] != false {
		t.Errorf("after an owner changed the address: got %v, want no permission", got)
	}
	s.want(201, "operator", "POST /webhooks", private)
	s.want(403, "owner", "GET /webhooks", "")
	key := newKey(t, s.instance, "operators", account.Admin)
	s.want(201, "nobody", "POST /accounts/acme/webhooks", private, "Authorization", "Bearer "+key) // an operator's program
	if got, err := s.admin.Webhooks.List(t.Context(), s.acme.ID); err != nil || len(got) != 2 || !got[1].AllowPrivate {
		t.Errorf("endpoints: got %+v, %v, want two, the second on a private address", got, err)
	}
}
