package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// entraIdentity sends a Microsoft Entra ID token of the default chain: the environment, a workload identity, a managed
// identity, command-line tools. https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
func entraIdentity(o *Options) *Identity {
	f := &entraFetcher{client: o.Client, scope: entraScope(o.URL.Hostname())}
	return newBearerIdentity(o, f.fetch)
}

// entraScope returns the scope of a token in the cloud that the host belongs to.
func entraScope(host string) string {
	domain := "azure.com"
	for _, sovereign := range []string{"azure.us", "azure.cn"} {
		if strings.HasSuffix(host, "."+sovereign) {
			domain = sovereign
		}
	}
	return "https://cognitiveservices." + domain + "/.default"
}

// entraFetcher holds the chain after its first use, because the chain remembers which member had a credential.
type entraFetcher struct {
	client *http.Client
	scope  string
	chain  *azidentity.DefaultAzureCredential
}

func (f *entraFetcher) fetch(ctx context.Context) (lease[bearer], error) {
	if f.chain == nil {
		options := azcore.ClientOptions{Transport: f.client}
		chain, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: options,
		})
		if err != nil {
			return lease[bearer]{}, err
		}
		f.chain = chain
	}
	token, err := f.chain.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{f.scope}})
	if err != nil {
		return lease[bearer]{}, explainEntra(err)
	}
	return lease[bearer]{value: bearer{token: token.Token}, end: token.ExpiresOn}, nil
}

// explainEntra omits the token server's answer from an error, except the number in Microsoft's documentation.
func explainEntra(err error) error {
	e, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	if !ok || e.RawResponse == nil { // there was no answer
		return err
	}
	number := regexp.MustCompile(`AADSTS[0-9]+`).FindString(err.Error())
	return fmt.Errorf("the token server (Microsoft Entra ID) answered %d %s", e.RawResponse.StatusCode, number)
}
