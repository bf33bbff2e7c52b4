package provider_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/credential"
	"weir/internal/must"
	"weir/internal/provider"
)

// proxy is an HTTP proxy that answers for all servers, over TLS with certificates of its own authority.
type proxy struct {
	*httptest.Server
	authority string // a PEM file
	handle    http.HandlerFunc
	certify   func(host string) (*tls.Certificate, error)

	mu    sync.Mutex
	asked []string // hosts
}

func newProxy(t *testing.T, handle http.HandlerFunc) *proxy {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "proxy"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	must.Do(t, err)
	p := &proxy{handle: handle, authority: file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))}
	p.certify = func(host string) (*tls.Certificate, error) {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
	}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.URL.Hostname())
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		p.handle(w, r)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	secured := tls.Server(conn, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return p.certify(h.ServerName) }})
	inner, err := http.ReadRequest(bufio.NewReader(secured))
	if err != nil {
		return
	}
	answer := httptest.NewRecorder()
	inner.URL.Host = inner.Host
	p.handle(answer, inner)
	res := answer.Result()
	res.ContentLength, res.Close = int64(answer.Body.Len()), true
	_ = res.Write(secured)
}

// TestIdentitiesGoByTheProxy checks that credentials are fetched through outbound.proxy, with outbound.ca_file trusted.
func TestIdentitiesGoByTheProxy(t *testing.T) {
	for _, tc := range []struct {
		auth credential.Scheme
		env  map[string]string
		from string // the host that issues the credential
		want string // the credential that the provider receives
	}{
		{credential.AWS, map[string]string{
			"AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_REGION": "eu-west-1",
		}, "sts.eu-west-1.amazonaws.com", "Credential=AKIASTS/"},
		{credential.Google, map[string]string{
			"GOOGLE_APPLICATION_CREDENTIALS": file(t, `{"type":"authorized_user","client_id":"c","client_secret":"`+canary+`","refresh_token":"`+canary+`","quota_project_id":"billed"}`),
		}, "oauth2.googleapis.com", "Bearer google-user"},
		{credential.Entra, map[string]string{
			"AZURE_TENANT_ID": "0b0b0b0b-0000-0000-0000-000000000000", "AZURE_CLIENT_ID": "client-5", "AZURE_CLIENT_SECRET": canary,
		}, "login.microsoftonline.com", "Bearer entra-secret"},
	} {
		t.Run(string(tc.auth), func(t *testing.T) {
			inAnEmptyCloud(t, tc.env)
			var got http.Header
			p := newProxy(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Hostname() == "acme.example" {
					got = r.Header
				}
				cloud(w, r)
			})
			a := identified(t, provider.Options{BaseURL: "http://acme.example", Auth: tc.auth, Proxy: p.URL, CAFile: p.authority})
			if _, f := exchange(t.Context(), a, chat(false)); f != nil {
				t.Fatal(f)
			}
			if !strings.Contains(got.Get("Authorization"), tc.want) {
				t.Errorf("got %q, want %q in it", got.Get("Authorization"), tc.want)
			}
			if project := got.Get("X-Goog-User-Project"); (project == "billed") != (tc.auth == credential.Google) {
				t.Errorf("got the project %q", project)
			}
			if !slices.Contains(p.asked, tc.from) {
				t.Errorf("the proxy got requests for %q, want %s among them", p.asked, tc.from)
			}
		})
	}
}

// cloud simulates all services behind the proxy.
func cloud(w http.ResponseWriter, r *http.Request) {
	switch host := r.URL.Hostname(); {
	case strings.HasPrefix(host, "sts."):
		awsSTS(w, r)
	case host == "oauth2.googleapis.com":
		answer(http.StatusOK, `{"access_token":"google-user","token_type":"Bearer","expires_in":3600}`)(w, r)
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		const base = "https://login.microsoftonline.com/0b0b0b0b-0000-0000-0000-000000000000"
		answer(http.StatusOK, fmt.Sprintf(`{"authorization_endpoint":%q,"token_endpoint":%q,"issuer":%q}`, base+"/authorize", base+"/token", base+"/v2.0"))(w, r)
	case strings.HasSuffix(r.URL.Path, "/token"):
		answer(http.StatusOK, `{"access_token":"entra-secret","token_type":"Bearer","expires_in":3600}`)(w, r)
	case host == "login.microsoftonline.com":
		answer(http.StatusOK, `{"tenant_discovery_endpoint":"https://login.microsoftonline.com/0b0b0b0b-0000-0000-0000-000000000000/v2.0/.well-known/openid-configuration","metadata":[]}`)(w, r)
	default:
		answer(http.StatusOK, "{}")(w, r)
	}
}

// TestMachineServicesNeedNoProxy checks that the machine's own services are called directly.
func TestMachineServicesNeedNoProxy(t *testing.T) {
	g := newGranter(t, awsContainer(time.Now().Add(time.Hour)))
	inAnEmptyCloud(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": g.URL, "AWS_REGION": "us-east-1"})
	p := newProxy(t, cloud)
	a := identified(t, provider.Options{BaseURL: "http://acme.example", Proxy: p.URL})
	if _, f := exchange(t.Context(), a, chat(false)); f != nil {
		t.Fatal(f)
	}
	if len(p.asked) != 1 || p.asked[0] != "acme.example" || g.hits.Load() != 1 {
		t.Errorf("the proxy got requests for %q, and the machine %d", p.asked, g.hits.Load())
	}
}
