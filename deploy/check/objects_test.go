package check_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"weir/internal/must"
)

// newObject returns an object of the type that apiVersion and kind name; nil for an unknown one.
func newObject(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "v1 Namespace":
		return &core.Namespace{}
	case "v1 ConfigMap":
		return &core.ConfigMap{}
	case "v1 Service":
		return &core.Service{}
	case "v1 ServiceAccount":
		return &core.ServiceAccount{}
	case "apps/v1 StatefulSet":
		return &apps.StatefulSet{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networking.NetworkPolicy{}
	case "networking.k8s.io/v1 Ingress":
		return &networking.Ingress{}
	case "policy/v1 PodDisruptionBudget":
		return &policy.PodDisruptionBudget{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return &autoscaling.HorizontalPodAutoscaler{}
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &monitoring.ServiceMonitor{}
	}
	return nil
}

// objects holds the Kubernetes objects of a text by kind and name. An unknown member is an error, and a duplicate one.
type objects map[string]any

func (o objects) add(text string) error {
	for next := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader([]byte(text)))); ; {
		document, err := next.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := yaml.Unmarshal(document, &head); err != nil {
			return fmt.Errorf("%w in:\n%s", err, document)
		}
		if head.Kind == "" { // only a comment, or nothing
			continue
		}
		object := newObject(head.APIVersion, head.Kind)
		if object == nil {
			return fmt.Errorf("no type is known for %s %s", head.APIVersion, head.Kind)
		}
		if err := decode(document, object); err != nil {
			return fmt.Errorf("%s %s: %w in:\n%s", head.Kind, head.Metadata.Name, err, document)
		}
		name := head.Kind + " " + head.Metadata.Name
		if _, twice := o[name]; twice {
			return fmt.Errorf("%s is there twice", name)
		}
		o[name] = object
	}
}

// decode reads an object as strictly as the Kubernetes API does: names in another case are unknown, too.
func decode(document []byte, object any) error {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(text, object)
	return errors.Join(append(strict, err)...)
}

func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

// find returns the object of that name.
func find[T any](t *testing.T, o objects, name string) T {
	t.Helper()
	object, ok := o[name].(T)
	if !ok {
		t.Fatalf("%s is not there, but %v", name, o.names())
	}
	return object
}

func TestManifestsAreValid(t *testing.T) {
	t.Parallel()
	o := objects{}
	must.Do(t, o.add(read(t, "kubernetes/weir.yaml")))
	must.Equal(t, o.names(), []string{
		"ConfigMap weir", "Namespace weir", "NetworkPolicy weir", "Service weir", "StatefulSet weir",
	}, "the objects")
	set := find[*apps.StatefulSet](t, o, "StatefulSet weir")
	must.Equal(t, *set.Spec.Replicas, int32(1), "gateways")
	holdPod(t, set, 35)
	holdService(t, find[*core.Service](t, o, "Service weir"), set)
}

// TestWrongManifests is the negative control of the check.
func TestWrongManifests(t *testing.T) {
	t.Parallel()
	good := read(t, "kubernetes/weir.yaml")
	for name, pair := range map[string][2]string{
		"unknown member":  {"fsGroupChangePolicy:", "fsGroupChangedPolicy:"},
		"in another case": {"terminationGracePeriodSeconds:", "terminationGraceperiodSeconds:"},
		"of wrong type":   {"periodSeconds: 10", "periodSeconds: often"},
		"twice":           {"      enableServiceLinks: false", strings.Repeat("      enableServiceLinks: false\n", 2)},
		"unknown kind":    {"kind: StatefulSet", "kind: StatefulSets"},
	} {
		if err := (objects{}).add(replaced(t, good, pair[0], pair[1])); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// holdPod checks the common properties of a gateway's pods, of any source. It stops within the given seconds.
func holdPod(t *testing.T, set *apps.StatefulSet, stops int64) {
	t.Helper()
	pod := &set.Spec.Template.Spec
	c := &pod.Containers[0]
	// 31 s: toldTimeout and twice closeTimeout of internal/app, after preStop and drain_timeout.
	if grace := *pod.TerminationGracePeriodSeconds; grace <= stops+31 {
		t.Errorf("the grace period is %d s, want more than %d", grace, stops+31)
	}
	is := func(what string, ok bool) {
		t.Helper()
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
	s := c.SecurityContext
	is("not as root", *pod.SecurityContext.RunAsNonRoot && *pod.SecurityContext.RunAsUser > 0)
	is("the volume is the user's", *pod.SecurityContext.FSGroup == *pod.SecurityContext.RunAsGroup)
	is("a filter of system calls", pod.SecurityContext.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault)
	is("the root file system is read-only", *s.ReadOnlyRootFilesystem)
	is("no capability", slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) && len(s.Capabilities.Add) == 0)
	is("no further privileges", !*s.AllowPrivilegeEscalation)
	is("no token of the cluster", !*pod.AutomountServiceAccountToken)
	is("no variables of services", !*pod.EnableServiceLinks)
	is("its own volume", len(set.Spec.VolumeClaimTemplates) == 1 && set.Spec.VolumeClaimTemplates[0].Name == "data")
	scaled := set.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled
	is("volumes stay", scaled == apps.RetainPersistentVolumeClaimRetentionPolicyType)
	for path, probe := range map[string]*core.Probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		must.Equal(t, probe.HTTPGet.Path, path, "the path of a probe")
		must.Equal(t, probe.HTTPGet.Port.StrVal, "metrics", "the port of the probe of %s", path)
	}
	is("a start may take minutes", c.StartupProbe.PeriodSeconds*c.StartupProbe.FailureThreshold >= 600)
	is("1.2 GiB of memory", c.Resources.Limits.Memory().Value() >= 12<<30/10)
}

// holdService checks that a service finds the pods, and a port of theirs.
func holdService(t *testing.T, service *core.Service, set *apps.StatefulSet) {
	t.Helper()
	for name, value := range service.Spec.Selector {
		must.Equal(t, set.Spec.Template.Labels[name], value, "the label %s of pods", name)
	}
	for _, port := range service.Spec.Ports {
		if !slices.ContainsFunc(set.Spec.Template.Spec.Containers[0].Ports, func(p core.ContainerPort) bool {
			return p.Name == port.TargetPort.StrVal
		}) {
			t.Errorf("no port of the pods has the name %q", port.TargetPort.StrVal)
		}
	}
}
