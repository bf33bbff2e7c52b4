package app

import (
	"slices"
	"testing"

	"weir/internal/must"
)

// TestRoutesThatRevoke checks which changes are permitted after a person has made too many others.
func TestRoutesThatRevoke(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range newInstance(t).site.userRoutes() {
		if r.route.Revokes() {
			got = append(got, r.route.Pattern)
		}
	}
	slices.Sort(got)
	must.Equal(t, got, []string{
		"DELETE /admin/v1/accounts/{account}/keys/{key}",
		"POST /accounts/{account}/keys/{id}/revoke",
		"POST /me/sessions/end",
		"POST /me/sessions/{id}/end",
	}, "routes that revoke")
}
