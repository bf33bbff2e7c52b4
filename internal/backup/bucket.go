package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"weir/internal/outbound"
)

const (
	awsEndpoint = "https://s3.amazonaws.com"
	connectTime = 10 * time.Second
	answerTime  = time.Minute
	idleTime    = 90 * time.Second
	// mostAnswer is the most bytes of an answer that is not an object, such as a list or an error, and mostNames the
	// most objects that a list has in all its pages.
	mostAnswer = 8 << 20
	mostNames  = 1_000_000
)

// bucket is a Target on a service with the API of Amazon S3.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

func newBucket(name, prefix string, o *BucketOptions) (*bucket, error) {
	if name == "" {
		return nil, errors.New("an s3:// address needs the name of a bucket: s3://BUCKET or s3://BUCKET/PREFIX")
	}
	endpoint := o.Endpoint
	if endpoint == "" {
		endpoint = awsEndpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the endpoint %q is not an http:// or https:// address", endpoint)
	}
	keys := credentials.NewEnvAWS()
	if o.AccessKeyID != "" {
		keys = credentials.NewStaticV4(o.AccessKeyID, o.SecretAccessKey.Reveal(), "")
	}
	transport, err := outbound.Transport(o.Proxy.Reveal(), o.CAFile, connectTime)
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout, transport.IdleConnTimeout = answerTime, idleTime
	client, err := minio.New(u.Host, &minio.Options{
		Creds: keys, Secure: u.Scheme == "https", Region: o.Region,
		Transport: &outbound.Bounded{Through: transport, Most: mostAnswer, Whole: isObject},
	})
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client, name, prefix}, nil
}

// isObject reports whether an answer is an object's content: a GET of anything else has a query.
func isObject(r *http.Response) bool {
	return r.Request.Method == http.MethodGet && r.Request.URL.RawQuery == "" &&
		(r.StatusCode == http.StatusOK || r.StatusCode == http.StatusPartialContent)
}

func (b *bucket) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, from, size,
		minio.PutObjectOptions{ContentType: "application/octet-stream", NumThreads: 1, DisableMultipart: size < 64<<20})
	return err
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
}

func (b *bucket) List(ctx context.Context, prefix string) (names []string, err error) {
	ctx, cancel := context.WithCancel(ctx) // ends the listing
	defer cancel()
	options := minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}
	for o := range b.client.ListObjects(ctx, b.name, options) {
		if o.Err != nil {
			return nil, o.Err
		}
		if len(names) == mostNames {
			return nil, fmt.Errorf("the bucket has more than %d objects below %q", mostNames, b.prefix+prefix)
		}
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	slices.Sort(names)
	return names, ctx.Err()
}

func (b *bucket) Remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
}
