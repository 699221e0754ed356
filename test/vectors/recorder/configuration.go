// Makes configurations that together set every field of KubeletConfiguration, and runs the kubelet's decoder and
// validation on them.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configv1beta1 "k8s.io/kubelet/config/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	defaultsv1beta1 "k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
)

func init() { lists["kubeletConfiguration"] = configurations }

// withoutDefault has a value of each field without a default, and the value of failCgroupV1 that suits every machine.
const withoutDefault = `{
	"staticPodPath": "/etc/kubernetes/manifests", "staticPodURL": "http://127.0.0.1/pods",
	"staticPodURLHeader": {"Accept": ["application/json"]}, "readOnlyPort": 10255, "tlsCertFile": "/etc/kubelet/tls.crt",
	"tlsPrivateKeyFile": "/etc/kubelet/tls.key", "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"],
	"tlsCurvePreferences": [29], "tlsMinVersion": "VersionTLS12", "rotateCertificates": true, "serverTLSBootstrap": true,
	"authentication": {"x509": {"clientCAFile": "/etc/kubelet/ca.crt"}}, "enableContentionProfiling": true,
	"imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
	"preloadedImagesVerificationAllowlist": ["registry.example.com/base/*"], "clusterDomain": "cluster.local",
	"clusterDNS": ["10.0.0.10"], "kubeletCgroups": "/kubelet", "systemCgroups": "/system", "cgroupRoot": "/",
	"singleProcessOOMKill": true, "cpuManagerPolicy": "static", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
	"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}, "qosReserved": {"memory": "50%"},
	"podCIDR": "10.1.0.0/24", "maxParallelImagePulls": 1, "evictionHard": {"memory.available": "100Mi"},
	"evictionSoft": {"memory.available": "200Mi"}, "evictionSoftGracePeriod": {"memory.available": "1m"},
	"evictionMaxPodGracePeriod": 30, "evictionMinimumReclaim": {"memory.available": "50Mi"}, "podsPerCore": 10,
	"protectKernelDefaults": true, "memorySwap": {"swapBehavior": "NoSwap"}, "systemReserved": {"cpu": "100m"},
	"kubeReserved": {"cpu": "100m"}, "allowedUnsafeSysctls": ["kernel.msg*"],
	"defaultPodSysctls": {"net.ipv4.ip_forward": "1"}, "providerID": "example://edge-7",
	"kernelMemcgNotification": true, "logging": {"vmodule": [{"filePattern": "kubelet*", "verbosity": 4}],
	"options": {"text": {"splitStream": true}, "json": {"splitStream": true}}}, "failCgroupV1": false,
	"enableSystemLogQuery": true, "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
	"memoryThrottlingFactor": 0.9, "registerWithTaints": [{"key": "example.com/a", "value": "b", "effect": "NoSchedule"}],
	"tracing": {"endpoint": "localhost:4317", "samplingRatePerMillion": 100},
	"imageServiceEndpoint": "unix:///run/images.sock", "userNamespaces": {"idsPerPod": 65536}
}`

// alternatives has the fields that exclude each other, by the words for a case's name.
var alternatives = map[string]string{
	"periods and cgroups": `{
		"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s",
		"systemReservedCgroup": "/system", "kubeReservedCgroup": "/kubelet"}`,
	"periods by priority and CPUs": `{
		"shutdownGracePeriodByPodPriority": [{"priority": 100, "shutdownGracePeriodSeconds": 10}], "reservedSystemCPUs": "0"}`,
}

// needed has the gates that must be on.
var needed = []string{"DefaultPodSysctls", "LoggingAlphaOptions"}

// refused has the fields that no kubelet accepts.
var refused = []string{"registerWithTaints.timeAdded"}

func configurations() []listedCase {
	// The texts of all alternatives together set every field, although no kubelet accepts that.
	complete := configurationOf(slices.Collect(maps.Values(alternatives))...)
	if missing := unset(reflect.TypeFor[configv1beta1.KubeletConfiguration](), complete, ""); len(missing) > 0 {
		panic(fmt.Sprintf("no configuration sets %v", missing))
	}
	var all []listedCase
	for name, own := range alternatives {
		configuration := configurationOf(own)
		given, want := object{"configuration": configuration}, object{"error": errorText(accepted(configuration))}
		all = append(all, listedCase{name: "every field, with " + name, given: given, want: want})
	}
	return all
}

// configurationOf returns the defaults, every feature gate, and a value of each field without a default.
func configurationOf(own ...string) object {
	configuration := configv1beta1.KubeletConfiguration{FeatureGates: map[string]bool{}}
	configuration.APIVersion, configuration.Kind = configv1beta1.SchemeGroupVersion.String(), "KubeletConfiguration"
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if name != "AllAlpha" && name != "AllBeta" {
			configuration.FeatureGates[string(name)] = spec.Default || slices.Contains(needed, string(name))
		}
	}
	defaultsv1beta1.SetDefaults_KubeletConfiguration(&configuration)
	configuration.ShowHiddenMetricsForVersion = releaseBefore
	for _, values := range append([]string{withoutDefault}, own...) {
		check(json.Unmarshal([]byte(values), &configuration))
	}
	fields := as[object](configuration)
	// Go omits the only value of runOnce that a kubelet accepts.
	fields["runOnce"] = false
	return fields
}

// unset returns the paths of a type's fields that a value does not set.
func unset(of reflect.Type, value any, path string) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if items, isList := value.([]any); isList {
		return unset(of.Elem(), items[0], path)
	}
	fields, isObject := value.(object)
	if !isObject || of.Kind() != reflect.Struct {
		return nil
	}
	var missing []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := strings.TrimPrefix(path+"."+name, ".")
		inner, isSet := fields[name]
		switch {
		case name == "-" || slices.Contains(refused, below):
		case name == "":
			missing = append(missing, unset(field.Type, fields, path)...)
		case isSet:
			missing = append(missing, unset(field.Type, inner, below)...)
		default:
			missing = append(missing, below)
		}
	}
	return missing
}

// accepted returns the error of the kubelet's decoder, or of its validation.
func accepted(configuration object) error {
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	check(err)
	decoded, err := runtime.Decode(codecs.UniversalDecoder(), must(json.Marshal(configuration)))
	if err != nil {
		return err
	}
	return validation.ValidateKubeletConfiguration(decoded.(*kubeletconfig.KubeletConfiguration), utilfeature.DefaultFeatureGate)
}
