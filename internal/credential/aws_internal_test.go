package credential

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"weir/internal/dialect"
	"weir/internal/must"
)

func header(all []dialect.Header, name string) string {
	for _, h := range all {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// exampleSigner returns the credentials and the scope of AWS's published examples.
func exampleSigner(service, host string) (*awsSigner, *awsKeys) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	s := &awsSigner{signer: v4.NewSigner(), service: service, content: "application/json", host: host, region: "us-east-1", now: func() time.Time { return at }}
	return s, &awsKeys{Credentials: aws.Credentials{
		AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	}}
}

// TestSignPublished checks the signature that AWS published in its test suite for Signature Version 4, as
// post-x-www-form-urlencoded.
func TestSignPublished(t *testing.T) {
	t.Parallel()
	s, k := exampleSigner("service", "example.amazonaws.com")
	s.content = "application/x-www-form-urlencoded"
	got := must.Get(s.sign(t.Context(), k, "/", []byte("Param1=value1")))(t)
	want := []dialect.Header{
		{Name: "X-Amz-Date", Value: "20150830T123600Z"},
		{Name: "Authorization", Value: "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
			"SignedHeaders=content-type;host;x-amz-date, Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	}
	must.Equal(t, got, want, "the signature")
}

func TestSignedHost(t *testing.T) {
	t.Parallel()
	sign := func(host string) string {
		s, k := exampleSigner("bedrock", host)
		got := must.Get(s.sign(t.Context(), k, "/model/m/converse", []byte("{}")))(t)
		return header(got, "Authorization")
	}
	if sign("example.amazonaws.com") == sign("example.amazonaws.com:443") {
		t.Error("the port is sent, and must be signed")
	}
}

func TestRegionOf(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"bedrock-runtime.us-east-1.amazonaws.com":                      "us-east-1",
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":             "us-gov-west-1",
		"bedrock-runtime.cn-northwest-1.amazonaws.com.cn":              "cn-northwest-1",
		"bedrock-runtime.eusc-de-east-1.amazonaws.eu":                  "eusc-de-east-1",
		"bedrock-runtime.ap-southeast-2.api.aws":                       "ap-southeast-2",
		"vpce-0a1b-c2.bedrock-runtime.eu-west-3.vpce.amazonaws.com":    "eu-west-3",
		"vpce-0a1b-c2-eu-west-3a.bedrock-runtime.eu-west-3.vpce.x.com": "",
		"bedrock.us-east-1.example.com":                                "",
		"127.0.0.1":                                                    "",
		"bedrock.amazonaws.com":                                        "",
	} {
		if got := regionOf(host); got != want {
			t.Errorf("regionOf(%q): got %q, want %q", host, got, want)
		}
	}
}

func TestRegionOfTheCredentials(t *testing.T) {
	t.Parallel()
	s, k := exampleSigner("bedrock", "127.0.0.1:9")
	s.region = ""
	if _, err := s.sign(t.Context(), k, "/", nil); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got %v, want an error that names the missing setting", err)
	}
	k.region = "eu-west-1"
	got, err := s.sign(t.Context(), k, "/", nil)
	if auth := header(got, "Authorization"); err != nil || !strings.Contains(auth, "/eu-west-1/bedrock/aws4_request") {
		t.Errorf("got %q, %v", auth, err)
	}
}
