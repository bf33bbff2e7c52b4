package check_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"weir/internal/config"
	"weir/internal/must"
)

// secretsOfCompose lists the variables that .env must set.
var secretsOfCompose = []string{
	"POSTGRES_PASSWORD=abc123", "WEIR_SECRETS_KEY=" + strings.Repeat("0123456789abcdef", 4), "GRAFANA_PASSWORD=x",
}

// compose loads the files like docker compose config.
func compose(env []string, files ...string) (*types.Project, error) {
	var paths []string
	for _, name := range files {
		paths = append(paths, path("compose/"+name))
	}
	options, err := cli.NewProjectOptions(paths, cli.WithEnv(env))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

func TestComposeFilesAreValid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files    []string
		gateways []string
		services int
	}{
		"alone":      {[]string{"compose.yaml"}, []string{"weir"}, 1},
		"PostgreSQL": {[]string{"compose.postgres.yaml"}, []string{"weir-1", "weir-2"}, 5},
		"monitoring": {[]string{"compose.yaml", "compose.monitoring.yaml"}, []string{"weir"}, 3},
		"PostgreSQL and monitoring": {
			[]string{"compose.postgres.yaml", "compose.monitoring.yaml"}, []string{"weir-1", "weir-2"}, 7,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := must.Get(compose(secretsOfCompose, test.files...))(t)
			must.Equal(t, len(p.Services), test.services, "services")
			volumes := map[string]bool{}
			for _, name := range test.gateways {
				s := p.Services[name]
				holdGateway(t, name, &s)
				if source := s.Volumes[0].Source; volumes[source] {
					t.Errorf("two gateways use the volume %s", source)
				} else {
					volumes[source] = true
				}
			}
			for name, s := range p.Services {
				holdMounts(t, name, &s)
			}
		})
	}
}

// holdGateway checks that a gateway accepts the variables of its service, and can stop in order.
func holdGateway(t *testing.T, name string, s *types.ServiceConfig) {
	t.Helper()
	var env []string
	for variable, value := range s.Environment {
		env = append(env, variable+"="+*value)
	}
	cfg := must.Get(config.Load(config.Options{
		File: file(t, "{}"), Environ: func() []string { return env },
		Getenv: func(name string) (string, bool) { v, ok := s.Environment[name]; return *v, ok },
	}))(t)
	must.Equal(t, len(cfg.Warnings), 0, "warnings about the variables of %s: %v", name, cfg.Warnings)
	must.Equal(t, cfg.Data, s.Volumes[0].Target, "the data directory of %s", name)
	if least := cfg.DrainTimeout + 31*time.Second; time.Duration(*s.StopGracePeriod) <= least {
		t.Errorf("%s has %s to stop, want more than %s", name, s.StopGracePeriod, least)
	}
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) {
		t.Errorf("%s may write its root, or has capabilities", name)
	}
	for _, port := range s.Ports {
		must.Equal(t, port.HostIP, "127.0.0.1", "from where the port %d of %s can be reached", port.Target, name)
	}
}

// holdMounts checks that the files that a service mounts exist.
func holdMounts(t *testing.T, name string, s *types.ServiceConfig) {
	t.Helper()
	for _, v := range s.Volumes {
		if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && err != nil {
			t.Errorf("%s mounts a missing file: %v", name, err)
		}
	}
}

// TestComposeTrustsOnlyCaddy checks that gateways trust only Caddy's address.
func TestComposeTrustsOnlyCaddy(t *testing.T) {
	t.Parallel()
	p := must.Get(compose(secretsOfCompose, "compose.postgres.yaml"))(t)
	caddy := p.Services["caddy"].Networks["edge"].Ipv4Address
	for _, name := range []string{"weir-1", "weir-2"} {
		must.Equal(t, *p.Services[name].Environment["WEIR_TRUSTED_PROXIES"], caddy, "the proxies that %s trusts", name)
	}
}

// TestComposeNeedsSecrets checks that nothing starts with a public password.
func TestComposeNeedsSecrets(t *testing.T) {
	t.Parallel()
	for i, variable := range secretsOfCompose {
		env := slices.Delete(slices.Clone(secretsOfCompose), i, i+1)
		name, _, _ := strings.Cut(variable, "=")
		_, err := compose(env, "compose.postgres.yaml", "compose.monitoring.yaml")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: got %v, want an error about it", name, err)
		}
	}
}

// configOf loads a configuration like a gateway.
func configOf(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	return config.Load(config.Options{
		File: file(t, text), Environ: func() []string { return nil },
		Getenv: func(string) (string, bool) { return "", false },
	})
}

// file writes a file with the text.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "weir.yaml")
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}
