package provider_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"weir/internal/credential"
	"weir/internal/must"
	"weir/internal/provider"
)

// TestAWSSignature compares the sent signature with that of AWS's own signer, and with that of a server written from
// the specification.
func TestAWSSignature(t *testing.T) {
	inAnEmptyCloud(t, map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": canary, "AWS_SESSION_TOKEN": "session", "AWS_REGION": "eu-west-1",
	})
	for _, way := range transports {
		u := newListener(t)
		o := provider.Options{BaseURL: u.URL + "/base", Auth: credential.AWS, Dialect: bedrockLike()}
		way.reach(t, &o)
		p := identified(t, o)
		for _, model := range []string{
			"amazon.nova-lite-v1:0", "plain", "with space", "ünï+code", "50%", "a%2Fb",
			"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
		} {
			c := chat(false)
			c.Model, c.Body = model, []byte(`{"messages":"`+model+`"}`)
			if _, f := exchange(t.Context(), p, c); f != nil {
				t.Fatalf("%s: %q: %v", way.name, model, f)
			}
			r := u.last(t)
			if !strings.Contains(r.Header.Get("Authorization"), "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,") {
				t.Errorf("%s: got %q", way.name, r.Header.Get("Authorization"))
			}
			if got, want := r.Header.Get("Authorization"), bySDK(t, r, "session"); got != want {
				t.Errorf("%s: %s: got\n%q, by the SDK\n%q", way.name, r.RequestURI, got, want)
			}
			if got, want := r.Header.Get("Authorization"), bySpecification(r, canary); !strings.HasSuffix(got, "Signature="+want) {
				t.Errorf("%s: %s: got\n%q, by the specification\n%q", way.name, r.RequestURI, got, want)
			}
		}
	}
}

// bySDK signs the received request again.
func bySDK(t *testing.T, r seen, session string) string {
	t.Helper()
	at := must.Get(time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")))(t)
	u := must.Get(url.ParseRequestURI(r.RequestURI))(t)
	again := &http.Request{Method: r.Method, URL: u, Host: r.Host, Header: http.Header{"Content-Type": r.Header["Content-Type"]}}
	hash := sha256.Sum256(r.body)
	c := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: canary, SessionToken: session}
	must.Do(t, v4.NewSigner().SignHTTP(t.Context(), c, again, hex.EncodeToString(hash[:]), "bedrock", "eu-west-1", at))
	return again.Header.Get("Authorization")
}

// bySpecification returns the signature of the received request by
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
func bySpecification(r seen, secret string) string {
	auth := r.Header.Get("Authorization")
	field := func(name string) string {
		_, v, _ := strings.Cut(auth, name+"=")
		v, _, _ = strings.Cut(v, ",")
		return v
	}
	var headers strings.Builder
	for name := range strings.SplitSeq(field("SignedHeaders"), ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	canonical := strings.Join([]string{
		r.Method, escapeAgain(path), query, headers.String(), field("SignedHeaders"), sum(string(r.body)),
	}, "\n")
	_, scope, _ := strings.Cut(field("Credential"), "/")
	key := []byte("AWS4" + secret)
	mac := func(key []byte, s string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(s))
		return h.Sum(nil)
	}
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n"+scope+"\n"+sum(canonical)))
}

// escapeAgain escapes a path except for its slashes and unreserved characters.
func escapeAgain(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
	var out strings.Builder
	for i := range len(path) {
		if strings.IndexByte(plain, path[i]) >= 0 {
			out.WriteByte(path[i])
		} else {
			fmt.Fprintf(&out, "%%%02X", path[i])
		}
	}
	return out.String()
}

// awsContainer simulates the credentials' endpoint of a container.
func awsContainer(end time.Time) http.HandlerFunc {
	return answer(http.StatusOK, awsJSON("AKIACONTAINER", end))
}

func awsJSON(id string, end time.Time) string {
	return fmt.Sprintf(`{"Code":"Success","Version":1,"AccessKeyId":%q,"SecretAccessKey":%q,"Token":"t","SessionToken":"t","Expiration":%q}`,
		id, canary, end.UTC().Format(time.RFC3339))
}

// awsMetadata simulates the metadata service of a machine with a role.
func awsMetadata(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		_, _ = io.WriteString(w, "metadata")
	case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
		_, _ = io.WriteString(w, "role")
	default:
		_, _ = io.WriteString(w, awsJSON("AKIAMACHINE", time.Now().Add(time.Hour)))
	}
}

// awsSTS accepts a web identity.
func awsSTS(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/xml")
	_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>AKIASTS</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, canary, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

func TestAWSChain(t *testing.T) {
	sts, machine := newGranter(t, awsSTS), newGranter(t, awsMetadata)
	container := newGranter(t, awsContainer(time.Now().Add(time.Hour)))
	profiles := file(t, "[profile work]\nregion = eu-north-1\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = "+canary+"\n"+
		"[profile tool]\nregion = eu-north-1\ncredential_process = echo '"+awsJSON("AKIATOOL", time.Now().Add(time.Hour))+"'\n")
	for name, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"environment": {map[string]string{"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": canary, "AWS_REGION": "us-east-1"}, "Credential=AKIAENV/"},
		"default region": {
			map[string]string{"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": canary, "AWS_DEFAULT_REGION": "ap-south-1"}, "/ap-south-1/bedrock/aws4_request",
		},
		"profile":          {map[string]string{"AWS_CONFIG_FILE": profiles, "AWS_PROFILE": "work"}, "Credential=AKIAPROFILE/"},
		"profile's region": {map[string]string{"AWS_CONFIG_FILE": profiles, "AWS_PROFILE": "work"}, "/eu-north-1/bedrock/aws4_request"},
		"command":          {map[string]string{"AWS_CONFIG_FILE": profiles, "AWS_PROFILE": "tool"}, "Credential=AKIATOOL/"},
		"web identity": {map[string]string{
			"AWS_WEB_IDENTITY_TOKEN_FILE": file(t, "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_ENDPOINT_URL_STS": sts.URL, "AWS_REGION": "us-east-1",
		}, "Credential=AKIASTS/"},
		"container": {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": container.URL, "AWS_REGION": "us-east-1"}, "Credential=AKIACONTAINER/"},
		"machine": {map[string]string{
			"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.URL, "AWS_REGION": "us-east-1",
		}, "Credential=AKIAMACHINE/"},
		"API key": {map[string]string{
			"AWS_BEARER_TOKEN_BEDROCK": "ABSK-key", "AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": canary, "AWS_REGION": "us-east-1",
		}, "Bearer ABSK-key"},
	} {
		t.Run(name, func(t *testing.T) {
			inAnEmptyCloud(t, tc.env)
			u := newListener(t)
			p := identified(t, provider.Options{BaseURL: u.URL})
			if _, f := exchange(t.Context(), p, chat(false)); f != nil {
				t.Fatal(f)
			}
			if got := u.last(t).Header.Get("Authorization"); !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestAWSFails(t *testing.T) {
	denied := newGranter(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not you: %s</Message></Error></ErrorResponse>`, canary)
	})
	garbled := newGranter(t, answer(http.StatusOK, `{"AccessKeyId":"`+canary))
	refusing := newGranter(t, answer(http.StatusForbidden, `{"code":"Nope","message":"`+canary+`"}`))
	profiles := file(t, "[profile bad]\nregion = x\ncredential_process = echo '{\"SecretAccessKey\": \""+canary+"\"'\n"+
		"[profile dies]\nregion = x\ncredential_process = echo "+canary+" >&2; exit 7\n"+
		"[profile sso]\nregion = eu-north-1\nsso_account_id = 1\nsso_role_name = r\nsso_start_url = https://example.invalid\nsso_region = eu-north-1\n")
	for name, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":    {map[string]string{"AWS_REGION": "us-east-1"}, "no EC2 IMDS role found"},
		"no region":  {map[string]string{"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": canary}, "set AWS_REGION"},
		"no profile": {map[string]string{"AWS_PROFILE": "absent"}, "absent"},
		"denied": {map[string]string{
			"AWS_WEB_IDENTITY_TOKEN_FILE": file(t, canary), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_ENDPOINT_URL_STS": denied.URL, "AWS_REGION": "us-east-1",
		}, "STS AssumeRoleWithWebIdentity answered AccessDenied"},
		"garbled":    {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": garbled.URL, "AWS_REGION": "us-east-1"}, ""},
		"refused":    {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": refusing.URL, "AWS_REGION": "us-east-1"}, "answered Nope"},
		"half JSON":  {map[string]string{"AWS_CONFIG_FILE": profiles, "AWS_PROFILE": "bad"}, "credential_process"},
		"exit 7":     {map[string]string{"AWS_CONFIG_FILE": profiles, "AWS_PROFILE": "dies"}, "credential_process"},
		"signed out": {map[string]string{"AWS_CONFIG_FILE": profiles, "AWS_PROFILE": "sso"}, "aws sso login"},
	} {
		t.Run(name, func(t *testing.T) {
			inAnEmptyCloud(t, tc.env)
			u := newListener(t)
			p := identified(t, provider.Options{BaseURL: u.URL})
			_, f := exchange(t.Context(), p, chat(false))
			wantNoCredential(t, f, tc.want)
			t.Log(f.Err.Err)
			if n := u.count(); n != 0 {
				t.Errorf("got %d requests, want none", n)
			}
		})
	}
}

// TestAWSRefresh checks that the credentials of a container are fetched once for all requests, again before they
// expire, and still used while a renewal fails.
func TestAWSRefresh(t *testing.T) {
	now := newHandClock()
	var g *granter
	var broken atomic.Bool
	g = newGranter(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			answer(http.StatusBadRequest, `{"code":"Away","message":"m"}`)(w, r)
			return
		}
		answer(http.StatusOK, awsJSON(fmt.Sprint("AKIA", g.hits.Load()), now.now().Add(time.Hour)))(w, r)
	})
	inAnEmptyCloud(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": g.URL, "AWS_REGION": "us-east-1"})
	u := newListener(t)
	p := identified(t, provider.Options{BaseURL: u.URL, Now: now.now})
	ask := func() string {
		t.Helper()
		if _, f := exchange(t.Context(), p, chat(false)); f != nil {
			t.Fatal(f)
		}
		return u.last(t).Header.Get("Authorization")
	}
	// all sends many concurrent requests, and checks the number of fetches.
	all := func(fetches int32) {
		t.Helper()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, f := exchange(t.Context(), p, chat(false)); f != nil {
					t.Error(f)
				}
			})
		}
		wg.Wait()
		id := fmt.Sprintf("Credential=AKIA%d/", fetches)
		for end := time.Now().Add(patience); !strings.Contains(ask(), id); { // the renewal runs in the background
			if time.Now().After(end) {
				t.Fatalf("got %q, want %q in it", ask(), id)
			}
		}
		if n := g.hits.Load(); n != fetches {
			t.Fatalf("got %d fetches, want %d", n, fetches)
		}
	}
	all(1)
	now.advance(45 * time.Minute)
	all(1)
	now.advance(7 * time.Minute) // the SDK has them end 5 minutes early
	all(2)
	now.advance(2 * time.Hour)
	all(3)
	broken.Store(true)
	now.advance(52 * time.Minute)
	for end := time.Now().Add(patience); g.hits.Load() < 4 && time.Now().Before(end); {
		if got := ask(); !strings.Contains(got, "Credential=AKIA3/") { // the renewal fails, and is not needed yet
			t.Fatalf("got %q", got)
		}
	}
	now.advance(2 * time.Hour)
	_, f := exchange(t.Context(), p, chat(false))
	wantNoCredential(t, f, "Away")
}

// TestAWSSecretsStayOut checks that no secret appears in the errors of a provider that repeats its request.
func TestAWSSecretsStayOut(t *testing.T) {
	const token = "ABSK-canary-0123456789"
	inAnEmptyCloud(t, map[string]string{"AWS_BEARER_TOKEN_BEDROCK": token, "AWS_REGION": "us-east-1"})
	u := newListener(t)
	u.echo = true
	p := identified(t, provider.Options{BaseURL: u.URL})
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || !strings.Contains(f.Err.Message, "Bearer [redacted]") || strings.Contains(fmt.Sprintf("%v %+v %#v", f, f, f.Upstream), token) {
		t.Errorf("got %v", f)
	}
	if text := fmt.Sprintf("%+v %#v", p, p); strings.Contains(text, token) {
		t.Error("the token is in the provider's printed form")
	}
}
