package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"

	"weir/internal/dialect"
)

const (
	// bedrockService is the service name of Amazon Bedrock in a signature's scope.
	bedrockService = "bedrock"
	// bedrockToken holds an Amazon Bedrock API key. It takes precedence, as in AWS's own SDKs:
	// https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html
	bedrockToken = "AWS_BEARER_TOKEN_BEDROCK"
)

// awsKeys are the credentials found by the default chain.
type awsKeys struct {
	aws.Credentials
	token  string // an Amazon Bedrock API key, used instead
	region string // from the environment or the profile; may be empty
}

// awsSigner signs requests to one host.
type awsSigner struct {
	signer  *v4.Signer
	service string
	content string // content type of each body
	host    string // as in the Host header
	region  string // the host's; empty means that of the credentials
	now     func() time.Time
}

// awsIdentity signs each request (AWS Signature Version 4) with the credentials of the SDK's default chain: the
// environment, a profile and all that it refers to, a web identity, the container, the machine.
func awsIdentity(o *Options) *Identity {
	client := newAWSClient(o.Client)
	k := newCredentialCache(o.Now, func(ctx context.Context) (lease[awsKeys], error) { return fetchAWS(ctx, client) })
	s := &awsSigner{
		signer: v4.NewSigner(), service: bedrockService, content: "application/json",
		host: strings.TrimSuffix(o.URL.Host, ":"), region: regionOf(o.URL.Hostname()), now: o.Now,
	}
	return &Identity{
		Sign: func(ctx context.Context, target string, body []byte) ([]dialect.Header, error) {
			keys, err := k.get(ctx)
			if err != nil {
				return nil, err
			}
			return s.sign(ctx, &keys, target, body)
		},
		Secrets: func() []string {
			var all []string
			for _, keys := range k.known() {
				all = append(all, keys.token, keys.SecretAccessKey, keys.SessionToken)
			}
			return all
		},
		Close: k.close,
	}
}

// newAWSClient returns the SDK's own type of client, which uses short timeouts for the machine's metadata service.
func newAWSClient(client *http.Client) *awshttp.BuildableClient {
	t := client.Transport.(*http.Transport)
	return awshttp.NewBuildableClient().WithTransportOptions(func(own *http.Transport) {
		own.Proxy, own.DisableKeepAlives = t.Proxy, true
		own.TLSClientConfig.RootCAs = t.TLSClientConfig.RootCAs
	})
}

// fetchAWS runs the chain from its beginning, so that changed files take effect.
func fetchAWS(ctx context.Context, client *awshttp.BuildableClient) (lease[awsKeys], error) {
	if token := strings.TrimSpace(os.Getenv(bedrockToken)); token != "" {
		return lease[awsKeys]{value: awsKeys{token: token}}, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(client))
	if err != nil {
		return lease[awsKeys]{}, explainAWS(err)
	}
	c, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return lease[awsKeys]{}, explainAWS(err)
	}
	l := lease[awsKeys]{value: awsKeys{Credentials: c, region: cfg.Region}}
	if c.CanExpire {
		l.end = c.Expires
	}
	return l, nil
}

// awsAnswer is an error returned by an AWS service, awsCall the operation that failed.
type (
	awsAnswer interface {
		error
		ErrorCode() string
	}
	awsCall interface {
		error
		Service() string
		Operation() string
	}
)

// explainAWS omits the answer of a service or a command from an error, because it may contain secrets.
func explainAWS(err error) error {
	if _, ok := errors.AsType[*processcreds.ProviderError](err); ok {
		return errors.New("the profile's credential_process returned no usable credentials")
	}
	if _, ok := errors.AsType[*ssocreds.InvalidTokenError](err); ok {
		return errors.New("the profile's sign-in (SSO) has ended; run `aws sso login`")
	}
	answer, ok := errors.AsType[awsAnswer](err)
	if !ok {
		return err
	}
	who := "AWS"
	if call, ok := errors.AsType[awsCall](err); ok {
		who = call.Service() + " " + call.Operation()
	}
	return fmt.Errorf("%s answered %s", who, errorCode(answer.ErrorCode()))
}

var errNoRegion = errors.New("the region is unknown: set AWS_REGION")

// sign returns the headers of a POST of the body to the target, which is escaped already. The signature covers the
// host, the content type, the hash of the body and AWS's own headers, none of which a proxy may change.
func (s *awsSigner) sign(ctx context.Context, k *awsKeys, target string, body []byte) ([]dialect.Header, error) {
	if k.token != "" {
		return []dialect.Header{{Name: "Authorization", Value: "Bearer " + k.token}}, nil
	}
	region := s.region
	if region == "" {
		region = k.region
	}
	if region == "" {
		return nil, errNoRegion
	}
	r := &http.Request{
		Method: http.MethodPost,
		URL:    opaqueURL(s.host, target), // without a scheme, so that the port is signed as it is sent
		Host:   s.host,
		Header: http.Header{"Content-Type": {s.content}},
	}
	hash := sha256.Sum256(body)
	err := s.signer.SignHTTP(ctx, k.Credentials, r, hex.EncodeToString(hash[:]), s.service, region, s.now())
	if err != nil {
		return nil, err
	}
	var signed []dialect.Header
	for _, name := range []string{"X-Amz-Date", "X-Amz-Security-Token", "Authorization"} {
		if v := r.Header.Get(name); v != "" {
			signed = append(signed, dialect.Header{Name: name, Value: v})
		}
	}
	return signed, nil
}

// opaqueURL returns a URL with the path of the target byte for byte, as the signer requires.
func opaqueURL(host, target string) *url.URL {
	path, query, _ := strings.Cut(target, "?")
	return &url.URL{Opaque: "//" + host + path, RawQuery: query}
}

// regionOf returns the region in an AWS host name, such as bedrock-runtime.eu-central-1.amazonaws.com; empty if there
// is none.
func regionOf(host string) string {
	if !strings.Contains(host, ".amazonaws.") && !strings.HasSuffix(host, ".api.aws") {
		return ""
	}
	region := regexp.MustCompile(`^[a-z]{2,5}(-[a-z]+)+-[0-9]+$`)
	for label := range strings.SplitSeq(host, ".") {
		if region.MatchString(label) {
			return label
		}
	}
	return ""
}
