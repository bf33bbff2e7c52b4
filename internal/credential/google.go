package credential

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"weir/internal/dialect"
	"weir/internal/rawjson"
)

const (
	// googleScope is the scope that Vertex AI requires.
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	// googleQuota names the project that a user's own credentials are charged to, if their file names none.
	googleQuota = "GOOGLE_CLOUD_QUOTA_PROJECT"
)

// googleIdentity sends an access token of Google's Application Default Credentials:
// https://cloud.google.com/docs/authentication/application-default-credentials
func googleIdentity(o *Options) *Identity {
	return newBearerIdentity(o, func(ctx context.Context) (lease[bearer], error) {
		return fetchGoogle(ctx, o.Client)
	})
}

// fetchGoogle searches the credentials from the beginning, so that changed files take effect, and fetches a token.
func fetchGoogle(ctx context.Context, client *http.Client) (lease[bearer], error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	c, err := google.FindDefaultCredentials(ctx, googleScope)
	if err != nil {
		return lease[bearer]{}, err
	}
	token, err := c.TokenSource.Token()
	if err != nil {
		return lease[bearer]{}, explainGoogle(err)
	}
	b := bearer{token: token.AccessToken}
	if project := quotaProject(c.JSON); project != "" {
		b.more = []dialect.Header{{Name: "X-Goog-User-Project", Value: project}}
	}
	return lease[bearer]{value: b, end: token.Expiry}, nil
}

// quotaProject returns the project that the request's quota is charged to; empty for that of the credentials.
func quotaProject(credentials []byte) string {
	if project := os.Getenv(googleQuota); project != "" {
		return project
	}
	var file struct {
		QuotaProject string `json:"quota_project_id"`
	}
	if json.Unmarshal(credentials, &file) != nil {
		return "" // a service of the machine, without a file
	}
	return file.QuotaProject
}

// explainGoogle omits the token server's answer from an error.
func explainGoogle(err error) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err
	}
	status := 0
	if e.Response != nil {
		status = e.Response.StatusCode
	}
	code := cmp.Or(e.ErrorCode, rawjson.Text(rawjson.Get(e.Body, "error")))
	return fmt.Errorf("the token server answered %d %s", status, errorCode(code))
}
