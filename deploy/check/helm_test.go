package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"weir/internal/must"
)

// shared has the values of a gateway that may be one of several.
const shared = `
database: {secretName: weir-database}
masterKey: {secretName: weir-key}
`

// full enables everything.
const full = shared + `
replicaCount: 3
valkey: {secretName: weir-valkey, key: address}
image: {repository: registry.example/weir, tag: "1.2.3"}
imagePullSecrets: [{name: registry}]
config: {public_url: "https://weir.example.com", trusted_proxies: [10.0.0.0/8], default_model: openai/gpt-5-mini}
envFromSecrets: [weir-providers]
env: [{name: AWS_REGION, value: eu-central-1}]
persistence: {size: 20Gi, storageClassName: fast}
drainSeconds: 120
preStopSeconds: 10
service: {type: LoadBalancer, port: 8080, annotations: {a: b}}
ingress: {enabled: true, className: nginx, annotations: {a: b}, host: weir.example.com, tlsSecretName: weir-tls}
autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 9, requestsInFlight: 700}
serviceMonitor: {enabled: true, interval: 30s, labels: {release: prometheus}}
networkPolicy:
  from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  egress: [{ports: [{port: 443}]}, {ports: [{port: 53, protocol: UDP}]}]
serviceAccount: {annotations: {a: b}}
podAnnotations: {a: b}
podLabels: {a: b}
nodeSelector: {a: b}
tolerations: [{key: a, operator: Exists}]
affinity: {nodeAffinity: {}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
`

// render renders the chart with these values, like helm template.
func render(t *testing.T, values string) (objects, error) {
	t.Helper()
	chart := must.Get(loader.Load(path("helm/weir")))(t)
	release := common.ReleaseOptions{Name: "weir", Namespace: "ai", IsInstall: true, Revision: 1}
	all, err := util.ToRenderValues(chart, parse(t, values), release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	o := objects{}
	for name, text := range files {
		if filepath.Ext(name) == ".yaml" {
			must.Do(t, o.add(text))
		}
	}
	return o, nil
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	must.Do(t, yaml.Unmarshal([]byte(text), &values))
	return values
}

func mustRender(t *testing.T, values string) objects {
	t.Helper()
	return must.Get(render(t, values))(t)
}

// TestChartLint runs helm lint.
func TestChartLint(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{"defaults": "", "shared": shared + "replicaCount: 2", "full": full} {
		linter := lint.RunAll(path("helm/weir"), parse(t, values), "ai")
		for _, m := range linter.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

func TestChartWithSQLite(t *testing.T) {
	t.Parallel()
	o := mustRender(t, "")
	must.Equal(t, o.names(), []string{
		"ConfigMap weir", "NetworkPolicy weir", "Service weir", "Service weir-nodes", "ServiceAccount weir",
		"StatefulSet weir",
	}, "the objects")
	set := find[*apps.StatefulSet](t, o, "StatefulSet weir")
	must.Equal(t, *set.Spec.Replicas, int32(1), "gateways")
	holdPod(t, set, 35)
	holdService(t, find[*core.Service](t, o, "Service weir"), set)
	holdService(t, find[*core.Service](t, o, "Service weir-nodes"), set)
	must.Equal(t, set.Spec.ServiceName, "weir-nodes", "the service of the StatefulSet")
	ingress := find[*networking.NetworkPolicy](t, o, "NetworkPolicy weir").Spec.Ingress
	if len(ingress) != 1 || ingress[0].Ports[0].Port.StrVal != "http" {
		t.Errorf("got %v, want that metrics cannot be reached", ingress)
	}
}

func TestChartWithPostgreSQL(t *testing.T) {
	t.Parallel()
	o := mustRender(t, shared+"replicaCount: 3")
	set := find[*apps.StatefulSet](t, o, "StatefulSet weir")
	must.Equal(t, *set.Spec.Replicas, int32(3), "gateways")
	budget := find[*policy.PodDisruptionBudget](t, o, "PodDisruptionBudget weir")
	must.Equal(t, budget.Spec.MaxUnavailable.IntValue(), 1, "gateways that may be away")
	must.Equal(t, secretsOf(set), map[string]string{
		"WEIR_DATABASE": "weir-database/url", "WEIR_SECRETS_KEY": "weir-key/key",
	}, "variables from secrets")
}

func TestChartWithEverything(t *testing.T) {
	t.Parallel()
	o := mustRender(t, full)
	set := find[*apps.StatefulSet](t, o, "StatefulSet weir")
	if set.Spec.Replicas != nil {
		t.Errorf("got %d gateways, want no number, because the autoscaler sets it", *set.Spec.Replicas)
	}
	holdPod(t, set, 130)
	must.Equal(t, set.Spec.Template.Spec.Containers[0].Image, "registry.example/weir:1.2.3", "the image")
	must.Equal(t, secretsOf(set)["WEIR_VALKEY"], "weir-valkey/address", "Valkey")
	must.Equal(t, set.Spec.Template.Spec.Containers[0].EnvFrom[0].SecretRef.Name, "weir-providers", "providers' keys")
	scaler := find[*autoscaling.HorizontalPodAutoscaler](t, o, "HorizontalPodAutoscaler weir")
	must.Equal(t, scaler.Spec.Metrics[0].Pods.Metric.Name, "weir_requests_in_flight", "the metric")
	must.Equal(t, scaler.Spec.Metrics[0].Pods.Target.AverageValue.Value(), int64(700), "requests in flight")
	monitor := find[*monitoring.ServiceMonitor](t, o, "ServiceMonitor weir")
	nodes := find[*core.Service](t, o, "Service weir-nodes")
	for name, value := range monitor.Spec.Selector.MatchLabels {
		must.Equal(t, nodes.Labels[name], value, "the label %s of the service that is monitored", name)
	}
	must.Equal(t, monitor.Spec.Endpoints[0].Port, nodes.Spec.Ports[0].Name, "the port that is monitored")
	must.Equal(t, len(find[*networking.NetworkPolicy](t, o, "NetworkPolicy weir").Spec.Egress), 2, "rules of egress")
	find[*networking.Ingress](t, o, "Ingress weir")
}

// TestChartConfiguration checks that the gateway accepts the configuration that the chart writes.
func TestChartConfiguration(t *testing.T) {
	t.Parallel()
	config := find[*core.ConfigMap](t, mustRender(t, full), "ConfigMap weir").Data["weir.yaml"]
	cfg := must.Get(configOf(t, config))(t)
	must.Equal(t, cfg.PublicURL, "https://weir.example.com", "public_url")
	must.Equal(t, cfg.DefaultModel, "openai/gpt-5-mini", "default_model")
	_ = must.Get(configOf(t, find[*core.ConfigMap](t, mustRender(t, ""), "ConfigMap weir").Data["weir.yaml"]))(t)
}

func secretsOf(set *apps.StatefulSet) map[string]string {
	all := map[string]string{}
	for _, v := range set.Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom != nil {
			all[v.Name] = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
		}
	}
	return all
}

// TestChartRefuses checks that invalid values are refused, with the reason.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, want string }{
		"several gateways with SQLite":  {"replicaCount: 2", "secretName"},
		"autoscaling with SQLite":       {"autoscaling: {enabled: true}", "secretName"},
		"several without a master key":  {"replicaCount: 2\ndatabase: {secretName: x}", "masterKey"},
		"no gateway":                    {"replicaCount: 0", "replicaCount"},
		"an unknown value":              {"replicas: 2", "replicas"},
		"an unknown value inside":       {"image: {name: weir}", "name"},
		"listen":                        {"config: {listen: \"0.0.0.0:1\"}", "listen"},
		"a monitor that nobody lets in": {"serviceMonitor: {enabled: true}", "metricsFrom"},
		"an ingress without a host":     {"ingress: {enabled: true}", "host"},
		"a size that is none":           {"persistence: {size: much}", "size"},
		"seconds that are text":         {"drainSeconds: 30s", "drainSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := render(t, test.values); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error about %s", err, test.want)
			}
		})
	}
}

// TestChartNames checks that objects have the name of the release, which may be of any length.
func TestChartNames(t *testing.T) {
	t.Parallel()
	chart := must.Get(loader.Load(path("helm/weir")))(t)
	for release, want := range map[string]string{
		"weir": "weir", "blue": "blue-weir", "weir-blue": "weir-blue", strings.Repeat("a", 53): strings.Repeat("a", 45),
	} {
		all := must.Get(util.ToRenderValues(chart, nil, common.ReleaseOptions{Name: release}, nil))(t)
		files := must.Get(engine.Render(chart, all))(t)
		o := objects{}
		must.Do(t, o.add(files["weir/templates/statefulset.yaml"]))
		must.Equal(t, o.names(), []string{"StatefulSet " + want}, "of the release %s", release)
	}
}
