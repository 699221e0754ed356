package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

func sorted[V any](all map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(key, all[key]) {
				return
			}
		}
	}
}

// everything is a template with the matched elements of all terms.
func everything(terms []object) string {
	text := ""
	for _, each := range terms {
		feature := each["feature"].(string)
		if strings.Count(feature, ".") == 1 {
			text += fmt.Sprintf("{{ range .%s }}n-{{ len . }}-{{ if .Name }}{{ .Name }}{{ end }}=1\n{{ end }}", feature)
		}
	}
	return text
}

// templates has the templates of NFD's documentation and samples, and faults of templates.
func templates(add adder) {
	features := object{
		"flags":      object{"cpu.cpuid": flags("AVX", "SSE")},
		"attributes": object{"system.osrelease": attributes(object{"ID": "debian", "VERSION_ID": "13", "EMPTY": ""})},
		"instances":  object{"pci.device": instances(object{"class": "0300", "vendor": "10de", "device": "1eb8"}, object{"class": "0302", "vendor": "10de", "device": "1eb9"})},
	}
	matchers := []object{
		term("pci.device", object{"vendor": op("In", "10de")}),
		named("system.osrelease", op("Exists")),
		term("cpu.cpuid", object{"AVX": op("Exists")}),
	}
	for _, text := range []string{
		"", "a=b", "a=b\nc=d", "a=b=c", "a", "a=", "=b", "  a=b  ", "a = b", "\n\n", "a=b\n\nc=d\n", "x/y=1", "\ta=b\r",
		"{{ range .pci.device }}vendor-{{ .class }}-{{ .device }}.present=true\n{{ end }}",
		"{{range .pci.device}}{{.class}}=1\n{{end}}",
		"{{- range .pci.device -}} {{ .class }}=1\n{{ end -}}  ",
		"{{ range .system.osrelease }}system-{{ .Name }}={{ .Value }}\n{{ end }}",
		"{{ range .cpu.cpuid }}cpu-{{ .Name }}=true\n{{ end }}",
		"{{ range .cpu.cpuid }}cpu-{{ .Value }}=true\n{{ end }}",
		"num={{ .pci.device | len }}", "num={{ len .pci.device }}", "num={{ (len .pci.device) }}",
		"first={{ (.pci.device | first).class | trim | substr 0 63 }}", "first={{ (first .pci.device).device }}",
		"first={{ (index .pci.device 0).class }}", "second={{ (index .pci.device 1).device }}", "third={{ (index .pci.device 2).device }}",
		"c={{ index (index .pci.device 0) \"class\" }}", "c={{ index .pci.device 0 \"class\" }}", "c={{ index .pci.device -1 }}", "c={{ index .pci.device \"0\" }}",
		"c={{ index (index .pci.device 0) \"none\" }}",
		"{{ if gt (len .pci.device) 0 }}present=true{{ end }}", "{{ if gt (len .pci.device) 2 }}present=true{{ end }}",
		"{{ if lt (len .pci.device) 3 }}few=true{{ else }}few=false{{ end }}", "{{ if ge (len .pci.device) 2 }}a=1{{end}}", "{{ if le 2 1 }}a=1{{else}}b=1{{end}}",
		"{{ if eq (len .pci.device) 2 }}two=true{{ end }}", "{{ if ne (len .pci.device) 2 }}two=false{{ else if eq 1 1 }}two=x{{ end }}",
		"{{ range .pci.device }}{{ if eq .class \"0300\" }}vga-{{ .device }}=true{{ end }}\n{{ end }}",
		"{{ range .pci.device }}{{ if and (eq .class \"0300\") (eq .vendor \"10de\") }}a-{{ .device }}=true{{ end }}\n{{ end }}",
		"{{ range .pci.device }}{{ if or (eq .class \"x\") (not (eq .vendor \"y\")) }}a-{{ .device }}=true{{ end }}\n{{ end }}",
		"{{ range .pci.device }}a=1{{ else }}none=1{{ end }}", "{{ range .system.osrelease }}{{ if .Value }}v-{{ .Name }}={{ .Value }}{{ end }}\n{{ end }}",
		"{{/* a comment */}}a=b", "{{- /* a comment */ -}} a=b", "a={{ \"text\" }}", "a={{ `raw` }}", "a={{ 7 }}", "a={{ true }}", "a={{ \"a\\tb\" }}",
		"a={{ substr 1 3 \"abcdef\" }}", "a={{ substr -1 3 \"abcdef\" }}", "a={{ substr 1 -1 \"abcdef\" }}", "a={{ substr 4 99 \"abcdef\" }}", "a={{ trim \"  x \" }}",
		"a={{ .pci }}", "a={{ .none.device }}", "a={{ .pci.none }}", "a={{ len .pci.none }}", "a={{ .pci.device.class }}", "{{ range .none.device }}a=1{{ end }}",
		"{{ range .pci.none }}a=1{{ end }}", "{{ range .pci.device }}{{ .none }}=1\n{{ end }}", "{{ range .pci.device }}{{ .class.more }}=1\n{{ end }}",
		"{{ range", "{{ range .pci.device }}", "{{ end }}", "{{ if }}a=1{{ end }}", "{{ .pci.device", "}}a=1", "{{ }}a=1", "a={{ none }}", "a={{ len }}", "a={{ len 1 2 }}", "a={{ gt \"a\" 1 }}", "a={{ gt 1 }}",
		"a={{ eq \"a\" \"a\" }}", "a={{ eq 1 2 1 }}", "a={{ and 1 0 }}", "a={{ or 0 \"x\" }}", "a={{ not 1 }}", "a={{ lt \"a\" \"b\" }}", "a={{ len \"abc\" }}", "a={{ first \"abc\" }}",
		"a={{ . }}", "a={{ (1) }}", "a={{ 1 | len }}", "a={{ \"abc\" | len }}", "a={{ .pci.device | first | len }}", "{{ else }}", "{{ range .pci.device }}{{ .class }}={{ len . }}\n{{ end }}",
		"a={{\n1 }}", "a={{ \"x }}", "a={{ (1 }}", "a={{ 1) }}", "{{range .pci.device}}{{.class}}=1{{end}}", "{{ range .pci.device }}{{ range . }}x{{ end }}=1\n{{ end }}", "a={{ index .pci \"device\" | len }}",
		"a={{ .Pci.device }}", "{{ if .pci.device }}a=1{{ end }}", "{{ if not .pci.device }}a=1{{ else }}b=1{{ end }}", "a={{ len .pci }}",
		// Those in which a random comparison of many templates found differences.
		"{{-\nrange .pci.device\t-}}\n{{ .class }}=1\n{{\nend\t-}} x=1", "{{ /* no comment */}}a=b", "{{/* a */ */}}a=b", "{{/* a */ }}a=b", "a={{ 1 \u00a0}}",
		"a={{ \"\\u00e9\\x41\\101\\U0001F600\\a\" }}", "a={{ \"\\ud800\" }}", "a={{ \"\\q\" }}", "a={{ 0x1F }}-{{ 017 }}-{{ 0b11 }}-{{ 1_000 }}-{{ +7 }}", "a={{ 08 }}",
		"a={{ eq \"a\"\"a\" }}", "a={{ len(.pci.device) }}", "a={{ len.pci.device }}", "a={{ index\"x\" }}", "a={{ \"x\".y }}", "a={{ .pci.device | len | }}", "a={{ | len }}",
		"{{ range .pci.device }}{{ else if true }}{{ end }}a=b", "{{ range .pci.device }}{{ .é }}=1{{ end }}", "é={{ index (index .pci.device 0) \"é\" }}1",
		"a={{ index . \"none\" }}", "a={{ index . \"none\" \"device\" }}", "a={{ len (index .pci \"none\") }}", "{{ range (index . \"none\" \"device\") }}x{{ else }}a=none{{ end }}", "a={{ index (index .pci.device 0) \"none\" \"more\" }}",
		"a={{ first (index .pci \"none\") }}", "a={{ (first (index .pci \"none\")).class }}", "{{ if first (index .pci \"none\") }}a=1{{ else }}a=2{{ end }}", "a={{ eq (first (index .pci \"none\")) \"x\" }}", "{{ range (first (index .pci \"none\")) }}x{{ else }}a=none{{ end }}", "a={{ len (first (index .pci \"none\")) }}",
		"a={{ substr 0 2 \"éa\" }}", "a={{ substr 3 2 \"abcdef\" }}", "a={{ substr 9 99 \"abc\" }}", "a={{ substr -1 9 \"abc\" }}", "a={{ substr 0 0 \"abc\" }}", "a={{ index \"abc\" 1 }}", "a={{ index \"abc\" 9 }}",
		"{{ range .pci.device }}{{ (.).class }}=1\n{{ end }}", "{{ range .pci.device }}{{ ..class }}=1\n{{ end }}", "{{ if false }}{{ (\"x\").y }}{{ end }}a=b", "a={{ (\"x\").y }}",
	} {
		add(fmt.Sprintf("the template %q", text), given{Rules: []object{rule(object{"matchFeatures": matchers, "labelsTemplate": text})}, Features: features})
	}
	for _, feature := range []string{"PCI.Device", "pci.device"} {
		add("a template names the feature as the rule does: "+feature, given{
			Rules:    []object{rule(object{"matchFeatures": []object{term(feature, object{"vendor": op("In", "10de")})}, "labelsTemplate": "{{ range ." + feature + " }}{{ .class }}=1\n{{ end }}"})},
			Features: features,
		})
	}
	add("a feature without a dot in a template", given{Rules: []object{rule(object{"matchFeatures": matchers, "labelsTemplate": "a={{ len .pci.device }}", "varsTemplate": "b={{ len .cpu }}"})}, Features: features})
	add("two terms of one feature → both elements", given{
		Rules:    []object{rule(object{"matchFeatures": []object{term("pci.device", object{"class": op("In", "0300")}), term("pci.device", object{"class": op("In", "0302")})}, "labelsTemplate": "{{ range .pci.device }}{{ .class }}=1\n{{ end }}n={{ len .pci.device }}"})},
		Features: features,
	})
	add("a static label replaces one of the template", given{Rules: []object{rule(object{"matchFeatures": matchers, "labelsTemplate": "l=2\nm=3"})}, Features: features})
}

// results has what follows from rules: names, namespaces, dynamic values, references to earlier rules.
func results(add adder) {
	features := ofAttributes("a.b", object{"k": "v", "n": "4", "long": strings.Repeat("x", 70), "bad": "no label!"})
	one := func(more object) given {
		made := object{"name": "r"}
		maps.Copy(made, more)
		return given{Rules: []object{made}, Features: features}
	}
	for _, key := range []string{
		"plain", "feature.node.kubernetes.io/own", "x.feature.node.kubernetes.io/sub", "profile.node.kubernetes.io/p", "x.profile.node.kubernetes.io/p", "example.com/vendor",
		"kubernetes.io/arch", "node-role.kubernetes.io/control-plane", "node.kubernetes.io/instance-type", "k8s.io/x", "/empty", "a/b/c", "-bad", "bad_", "UPPER.com/x", "",
		"a b", strings.Repeat("x", 63), strings.Repeat("x", 64), "feature.node.kubernetes.io", "feature.node.kubernetes.io/", "afeature.node.kubernetes.io/x",
	} {
		add(fmt.Sprintf("the label %q", key), one(object{"labels": object{key: "1"}}))
		add(fmt.Sprintf("the annotation %q", key), one(object{"annotations": object{key: "any text, {}"}}))
		add(fmt.Sprintf("the resource %q", key), one(object{"extendedResources": object{key: "2"}}))
		add(fmt.Sprintf("the taint %q", key), one(object{"taints": []object{{"key": key, "value": "v", "effect": "NoSchedule"}}}))
	}
	for _, value := range []string{"", "1", "a b", "@a.b.k", "@a.b.n", "@a.b.none", "@a.none.k", "@a.b", "@", "@a.b.long", "@a.b.bad", "1Gi", "-1", "1.5", "x", strings.Repeat("y", 63), strings.Repeat("y", 64), "@rule.matched.v"} {
		add(fmt.Sprintf("the label's value %q", value), one(object{"labels": object{"l": value}, "vars": object{"v": "seen"}}))
		add(fmt.Sprintf("the resource's amount %q", value), one(object{"extendedResources": object{"r": value}}))
	}
	add("an annotation as long as its limit", one(object{"annotations": object{"a": strings.Repeat("x", 1024)}}))
	add("an annotation longer than its limit", one(object{"annotations": object{"a": strings.Repeat("x", 1025)}}))
	add("an annotation of more bytes than its limit", one(object{"annotations": object{"a": strings.Repeat("é", 600)}}))
	add("an annotation's value is no reference", one(object{"annotations": object{"a": "@a.b.k"}}))
	for _, effect := range []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute", "Never"} {
		add(fmt.Sprintf("the taint's effect %q", effect), one(object{"taints": []object{{"key": "example.com/t", "effect": effect}}}))
	}
	add("a key with and without the namespace", one(object{"labels": object{"x": "short", "feature.node.kubernetes.io/x": "long"}}))
	second := func(more ...object) given { return given{Rules: more, Features: features} }
	set := func(name string, more object) object {
		made := object{"name": name}
		maps.Copy(made, more)
		return made
	}
	sees := func(key string, expression object) object {
		return set("b", object{"labels": object{"seen": "1"}, "matchFeatures": []object{term("rule.matched", object{key: expression})}})
	}
	never := []object{term("none.none", object{})}
	add("a rule refers to a label", second(set("a", object{"labels": object{"x": "1"}}), sees("x", op("In", "1"))))
	add("a rule refers to a variable", second(set("a", object{"vars": object{"x": "1"}}), sees("x", op("In", "1"))))
	add("a variable replaces a label of its rule", second(set("a", object{"labels": object{"x": "1"}, "vars": object{"x": "2"}}), sees("x", op("In", "2"))))
	add("a rule refers to a variable of a template", second(set("a", object{"varsTemplate": "x=1\ny=2", "matchFeatures": []object{term("a.b", object{"k": op("Exists")})}}), sees("y", op("In", "2"))))
	add("a template without a matcher is not expanded", second(set("a", object{"varsTemplate": "x=1", "labelsTemplate": "z=1"}), sees("x", op("Exists"))))
	add("a rule refers to a rule that did not match", second(set("a", object{"labels": object{"x": "1"}, "matchFeatures": never}), sees("x", op("Exists"))))
	add("a rule refers to the absence of a rule that did not match", second(set("a", object{"labels": object{"x": "1"}, "matchFeatures": never}), sees("x", op("DoesNotExist"))))
	add("the first rule refers to an earlier one", second(sees("x", op("DoesNotExist"))))
	add("a rule refers to a rule that failed", second(set("a", object{"labels": object{"x": "1"}, "matchFeatures": []object{term("a.b", object{"k": op("In")})}}), sees("x", op("DoesNotExist"))))
	add("a later rule refers to the key as the rule has it", second(set("a", object{"labels": object{"feature.node.kubernetes.io/x": "1", "y": "1"}}), sees("feature.node.kubernetes.io/x", op("Exists")), set("c", object{"labels": object{"c": "1"}, "matchFeatures": []object{term("rule.matched", object{"feature.node.kubernetes.io/y": op("Exists")})}})))
	add("a later rule replaces a label", second(set("a", object{"labels": object{"x": "1"}}), set("b", object{"labels": object{"x": "2"}})))
	add("a label refused by its value counts for later rules", second(set("a", object{"labels": object{"x": "a b"}}), sees("x", op("In", "a b"))))
	add("a label refers to a variable", second(set("a", object{"vars": object{"x": "1"}}), set("b", object{"labels": object{"y": "@rule.matched.x"}})))
	add("a label refers to a later rule's variable", second(set("b", object{"labels": object{"y": "@rule.matched.x"}}), set("a", object{"vars": object{"x": "1"}})))
	add("taints of two rules", second(set("a", object{"taints": []object{{"key": "example.com/a", "effect": "NoSchedule"}}}), set("b", object{"taints": []object{{"key": "example.com/a", "value": "x", "effect": "NoExecute"}}})))
	add("everything at once", second(set("a", object{
		"labels": object{"l": "1"}, "annotations": object{"n": "2"}, "extendedResources": object{"e": "@a.b.n"}, "taints": []object{{"key": "example.com/t", "effect": "NoSchedule"}}, "vars": object{"v": "3"},
		"matchFeatures": []object{term("a.b", object{"k": op("In", "v")})},
	})))
	add("nothing of a rule that does not match", second(set("a", object{
		"labels": object{"l": "1"}, "annotations": object{"n": "2"}, "extendedResources": object{"e": "@a.b.n"}, "taints": []object{{"key": "example.com/t", "effect": "NoSchedule"}}, "vars": object{"v": "3"},
		"matchFeatures": []object{term("a.b", object{"k": op("In", "w")})},
	})))
}
