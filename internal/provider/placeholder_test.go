package provider_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/provider"
)

// TestCloudsAreEnabledByVariables checks the variables that enable the big clouds, and the clouds' addresses.
func TestCloudsAreEnabledByVariables(t *testing.T) {
	t.Parallel()
	const (
		us     = "https://bedrock-runtime.us-east-1.amazonaws.com"
		vertex = "googleapis.com/v1/projects/p/locations/"
		azure  = "https://r.openai.azure.com/openai/v1"
	)
	off, ambient := provider.Found{}, func(base string) provider.Found {
		return provider.Found{On: true, Ambient: true, BaseURL: base}
	}
	on := func(base string) provider.Found { return provider.Found{On: true, BaseURL: base} }
	moved := func(base string) provider.Found { return provider.Found{On: true, BaseURL: base, Moved: true} }
	lacks := func(is provider.Found, variable string) provider.Found {
		is.Missing = []string{variable}
		return is
	}
	for _, tc := range []struct {
		entry string
		env   string
		want  provider.Found
	}{
		{"bedrock", "", lacks(off, "AWS_REGION")},
		{"bedrock", "AWS_REGION=us-east-1", provider.Found{BaseURL: us}},
		{"bedrock", "AWS_BEARER_TOKEN_BEDROCK=k AWS_REGION=us-east-1", on(us)},
		{"bedrock", "AWS_BEARER_TOKEN_BEDROCK=k AWS_DEFAULT_REGION=us-east-1", on(us)},
		{"bedrock", "AWS_BEARER_TOKEN_BEDROCK=k AWS_REGION=us-east-1 AWS_DEFAULT_REGION=eu-west-1", on(us)},
		{"bedrock", "AWS_BEARER_TOKEN_BEDROCK=k AWS_PROFILE=work AWS_REGION=us-east-1", on(us)},
		{"bedrock", "AWS_BEARER_TOKEN_BEDROCK=k", lacks(on(""), "AWS_REGION")},
		{"bedrock", "AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s AWS_REGION=us-east-1", ambient(us)},
		{"bedrock", "AWS_ACCESS_KEY_ID=a", lacks(ambient(""), "AWS_REGION")},
		{"bedrock", "AWS_PROFILE=work AWS_REGION=us-east-1", ambient(us)},
		{"bedrock", "AWS_PROFILE=work", lacks(ambient(""), "AWS_REGION")},
		{"bedrock", "AWS_WEB_IDENTITY_TOKEN_FILE=/t AWS_ROLE_ARN=r AWS_REGION=us-east-1", ambient(us)},
		{"bedrock", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/c AWS_REGION=us-east-1", ambient(us)},
		{"bedrock", "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://c AWS_REGION=us-east-1", ambient(us)},
		{"bedrock", "AWS_BEARER_TOKEN_BEDROCK=k AWS_ENDPOINT_URL_BEDROCK_RUNTIME=https://vpce.example", moved("https://vpce.example")},

		{"vertex", "", lacks(off, "GOOGLE_CLOUD_PROJECT")},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p", provider.Found{BaseURL: "https://aiplatform." + vertex + "global/publishers/google"}},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_GENAI_USE_VERTEXAI=true", on("https://aiplatform." + vertex + "global/publishers/google")},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_GENAI_USE_VERTEXAI=1 GOOGLE_CLOUD_LOCATION=global", on("https://aiplatform." + vertex + "global/publishers/google")},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_GENAI_USE_VERTEXAI=false", provider.Found{BaseURL: "https://aiplatform." + vertex + "global/publishers/google"}},
		{"vertex", "GOOGLE_GENAI_USE_VERTEXAI=true", lacks(on(""), "GOOGLE_CLOUD_PROJECT")},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_APPLICATION_CREDENTIALS=/f", ambient("https://aiplatform." + vertex + "global/publishers/google")},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_GENAI_USE_VERTEXAI=True GOOGLE_CLOUD_LOCATION=europe-west4", on("https://europe-west4-aiplatform." + vertex + "europe-west4/publishers/google")},
		{"vertex", "GOOGLE_CLOUD_PROJECT=p GOOGLE_GENAI_USE_VERTEXAI=true GOOGLE_CLOUD_REGION=eu", on("https://aiplatform.eu.rep." + vertex + "eu/publishers/google")},

		{"azure", "", lacks(off, "AZURE_OPENAI_ENDPOINT")},
		{"azure", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com", on(azure)},
		{"azure", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com/ AZURE_OPENAI_API_KEY=k", on(azure)},
		{"azure", "AZURE_OPENAI_ENDPOINT=https://r.openai.azure.com/openai/v1/", on(azure)},
		{"azure", "AZURE_OPENAI_API_KEY=k", lacks(on(""), "AZURE_OPENAI_ENDPOINT")},
		{"azure", "AZURE_OPENAI_BASE_URL=" + azure, moved(azure)},
	} {
		env := map[string]string{}
		for v := range strings.FieldsSeq(tc.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		got := catalogue(t).Find(tc.entry).FromEnv(environment(env))
		if (len(got.APIKeys) > 0) != (strings.Contains(tc.env, "KEY=k") || strings.Contains(tc.env, "BEDROCK=k")) {
			t.Errorf("%s with %s: got %d keys", tc.entry, tc.env, len(got.APIKeys))
		}
		got.APIKeys = nil
		must.Equal(t, got, tc.want, "%s with %s", tc.entry, tc.env)
	}
}

// TestCloudsRankLast checks that providers that other programs' variables may enable rank after all that only
// a key enables.
func TestCloudsRankLast(t *testing.T) {
	t.Parallel()
	all := catalogue(t)
	for i, e := range all {
		later := slices.ContainsFunc(all[i:], func(l provider.Entry) bool { return !l.Local && len(l.AmbientEnv)+len(l.SwitchEnv) == 0 })
		if len(e.AmbientEnv) > 0 && later {
			wrongEntry(t, "%s: its ambient_env may be set for other programs, and its rank %d stands before that of a "+
				"provider that only a key switches on", e.Name, e.Rank)
		}
	}
}

func TestPlaceholdersAreChecked(t *testing.T) {
	t.Parallel()
	entry := func(base, placeholders string) string {
		return `{"name":"a","title":"A","dialect":"openai","auth":"bearer","base_url_env":"A_BASE_URL","docs":"https://a.example","rank":1,` +
			`"base_url":"` + base + `","placeholders":` + placeholders + `}`
	}
	for want, text := range map[string]string{
		"":                               entry("https://{r}.example/v1", `{"r":{"env":["R"],"example":"x"}}`),
		"{r} is missing in placeholders": entry("https://{r}.example", `{}`),
		"{open} is missing":              entry("https://{open", `{}`),
		"placeholders.s: base_url":       entry("https://{r}.example", `{"r":{"env":["R"],"example":"x"},"s":{"env":["S"],"example":"x"}}`),
		"placeholders.r: env and":        entry("https://{r}.example", `{"r":{"env":["R"]}}`),
		"placeholders.r: env":            entry("https://{r}.example", `{"r":{"env":[],"example":"x"}}`),
		"is not an http or https":        entry("{r}.example", `{"r":{"env":["R"],"example":"x"}}`),
		`unknown field "otherwise"`:      entry("https://{r}.example", `{"r":{"env":["R"],"example":"x","otherwise":1}}`),
	} {
		_, err := provider.ParseEntry([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestFormsOfVertexHost checks the forms of Vertex AI's host.
func TestFormsOfVertexHost(t *testing.T) {
	t.Parallel()
	e := catalogue(t).Find("vertex")
	hosts := map[string]string{
		"global": "aiplatform.googleapis.com", "us": "aiplatform.us.rep.googleapis.com", "us-central1": "us-central1-aiplatform.googleapis.com",
	}
	for location := range maps.Keys(hosts) {
		got := e.FromEnv(environment(map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": location})).BaseURL
		if want := "https://" + hosts[location] + "/v1/projects/p/locations/" + location + "/publishers/google"; got != want {
			t.Errorf("%s: got %q, want %q", location, got, want)
		}
	}
}
