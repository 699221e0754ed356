// Records what node-feature-discovery's own rule engine does with the cases of featureRules.json: for each case, runs the
// rules in their order on the features, as nfd-master does. Usage: recorder > featureRules.json
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nfd "sigs.k8s.io/node-feature-discovery/api/nfd/v1alpha1"
	"sigs.k8s.io/node-feature-discovery/pkg/apis/nfd/nodefeaturerule"
	"sigs.k8s.io/node-feature-discovery/pkg/apis/nfd/validate"
)

type object = map[string]any

type given struct {
	Rules    []object `json:"rules"`
	Features object   `json:"features"`
}

// outcome is what nfd-master would set on the Node. `failed` has the names of the rules that could not be evaluated, and
// `refused` what nfd-master leaves out.
type outcome struct {
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	ExtendedResources map[string]string `json:"extendedResources"`
	Taints            []corev1.Taint    `json:"taints"`
	Failed            []string          `json:"failed"`
	Refused           []string          `json:"refused"`
}

func main() {
	lines := []string{}
	names := map[string]bool{}
	add := func(name string, g given) {
		if names[name] {
			panic("two cases " + name)
		}
		names[name] = true
		line := must(json.Marshal(struct {
			Name  string  `json:"name"`
			Given given   `json:"given"`
			Want  outcome `json:"want"`
		}{name, g, run(g)}))
		lines = append(lines, string(line))
	}
	expressions(add)
	matchers(add)
	templates(add)
	results(add)
	fmt.Fprintf(os.Stderr, "%d cases\n", len(lines))
	fmt.Printf("{\n\"source\":%q,\n\"doc\":%q,\n\"cases\":[\n%s\n]}\n",
		"node-feature-discovery v0.19.0 nodefeaturerule.Execute and pkg/apis/nfd/validate, in the order of nfd-master",
		"given.rules are the rules of a NodeFeatureRule, given.features those of a NodeFeature. failed: the rules with an error, whose text is not compared. refused: what nfd-master leaves out, as `label KEY`, `annotation KEY`, `resource KEY` or `taint KEY`.",
		strings.Join(lines, ",\n"))
}

// run does what nfd-master does with the rules of its objects, in the order of their names (processNodeFeatureRule).
func run(g given) outcome {
	var rules []nfd.Rule
	check(json.Unmarshal(must(json.Marshal(g.Rules)), &rules))
	features := nfd.NewFeatures()
	check(json.Unmarshal(must(json.Marshal(g.Features)), features))
	out := outcome{
		Labels: map[string]string{}, Annotations: map[string]string{}, ExtendedResources: map[string]string{},
		Taints: []corev1.Taint{}, Failed: []string{}, Refused: []string{},
	}
	labels, annotations, resources := map[string]string{}, map[string]string{}, map[string]string{}
	var taints []corev1.Taint
	for at := range rules {
		result, err := nodefeaturerule.Execute(&rules[at], features, true)
		if err != nil {
			out.Failed = append(out.Failed, rules[at].Name)
			continue
		}
		taints = append(taints, result.Taints...)
		maps.Copy(labels, prefixed(result.Labels, nfd.FeatureLabelNs))
		maps.Copy(resources, prefixed(result.ExtendedResources, nfd.ExtendedResourceNs))
		maps.Copy(annotations, prefixed(result.Annotations, nfd.FeatureAnnotationNs))
		features.InsertAttributeFeatures(nfd.RuleBackrefDomain, nfd.RuleBackrefFeature, result.Labels)
		features.InsertAttributeFeatures(nfd.RuleBackrefDomain, nfd.RuleBackrefFeature, result.Vars)
	}
	out.keep("label", labels, out.Labels, features, validate.Label)
	out.keep("annotation", annotations, out.Annotations, nil, validate.Annotation)
	out.keep("resource", resources, out.ExtendedResources, features, validate.ExtendedResource)
	for _, taint := range taints {
		if validate.Taint(&taint) != nil {
			out.Refused = append(out.Refused, "taint "+taint.Key)
		} else {
			out.Taints = append(out.Taints, taint)
		}
	}
	slices.Sort(out.Refused)
	return out
}

// keep moves the valid entries into `into`. `features` is not nil where a value may be `@domain.feature.element`.
func (o *outcome) keep(kind string, from, into map[string]string, features *nfd.Features, valid func(key, value string) error) {
	for key, value := range from {
		isKnown := true
		if features != nil && strings.HasPrefix(value, "@") {
			value, isKnown = dynamic(value, features)
		}
		if !isKnown || valid(key, value) != nil {
			o.Refused = append(o.Refused, kind+" "+key)
		} else {
			into[key] = value
		}
	}
}

// dynamic is getDynamicValue of nfd-master.
func dynamic(value string, features *nfd.Features) (string, bool) {
	parts := strings.SplitN(value[1:], ".", 3)
	if len(parts) != 3 {
		return "", false
	}
	set, ok := features.Attributes[parts[0]+"."+parts[1]]
	if !ok {
		return "", false
	}
	element, ok := set.Elements[parts[2]]
	return element, ok
}

// prefixed is addNsToMapKeys of nfd-master.
func prefixed(in map[string]string, namespace string) map[string]string {
	out := make(map[string]string, len(in))
	for key, value := range in {
		if strings.Contains(key, "/") {
			out[key] = value
		} else if joined := path.Join(namespace, key); !has(in, joined) {
			out[joined] = value
		}
	}
	return out
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func has(in map[string]string, key string) bool {
	_, ok := in[key]
	return ok
}
