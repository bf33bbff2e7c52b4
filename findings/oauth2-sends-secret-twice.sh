#!/usr/bin/env bash
# golang.org/x/oauth2 v0.37.0 sends client credentials twice if the first request for a token fails, whatever the failure:
# by HTTP Basic, and then in the body. AuthStyle is "auto detect" by default; the documentation says that both are tried
# until one works, and one would expect that for 401 only. So an outage of an OAuth server (503), or a redirect that the
# client refuses, doubles the requests, and puts the secret into a body. Remedy: AuthStyle: oauth2.AuthStyleInHeader.
#
# Output seen on 2026-11-29:
#   default, 503: 2 requests, the secret in the body of the last one: true
#   default, 302: 2 requests, the secret in the body of the last one: true
#   AuthStyleInHeader, 503: 1 requests, the secret in the body of the last one: false
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func try(what string, status int, style oauth2.AuthStyle) {
	requests, inBody := 0, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		inBody = r.PostFormValue("client_secret") != ""
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer server.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("refused") }}
	c := clientcredentials.Config{TokenURL: server.URL, ClientID: "id", ClientSecret: "secret", AuthStyle: style}
	_, _ = c.Token(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	fmt.Printf("%s, %d: %d requests, the secret in the body of the last one: %t\n", what, status, requests, inBody)
}

func main() {
	try("default", 503, oauth2.AuthStyleAutoDetect)
	try("default", 302, oauth2.AuthStyleAutoDetect)
	try("AuthStyleInHeader", 503, oauth2.AuthStyleInHeader)
}
GO
cat >go.mod <<'MOD'
module finding

go 1.26.0

require golang.org/x/oauth2 v0.37.0
MOD
GOFLAGS=-mod=mod go mod tidy >/dev/null 2>&1

GOFLAGS=-mod=mod go run . | tee seen
diff seen - <<'WANT'
default, 503: 2 requests, the secret in the body of the last one: true
default, 302: 2 requests, the secret in the body of the last one: true
AuthStyleInHeader, 503: 1 requests, the secret in the body of the last one: false
WANT
