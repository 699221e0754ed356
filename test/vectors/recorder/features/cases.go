package main

import (
	"fmt"
	"strings"
)

type adder = func(name string, g given)

func attributes(elements object) object { return object{"elements": elements} }

func flags(names ...string) object {
	elements := object{}
	for _, name := range names {
		elements[name] = object{}
	}
	return object{"elements": elements}
}

func instances(each ...object) object {
	elements := []any{}
	for _, one := range each {
		elements = append(elements, object{"attributes": one})
	}
	return object{"elements": elements}
}

func ofAttributes(name string, elements object) object {
	return object{"attributes": object{name: attributes(elements)}}
}

func term(feature string, expressions object) object {
	return object{"feature": feature, "matchExpressions": expressions}
}

func named(feature string, expression object) object {
	return object{"feature": feature, "matchName": expression}
}

func op(name string, values ...string) object {
	if len(values) == 0 {
		return object{"op": name}
	}
	return object{"op": name, "value": values}
}

func versions(name string, values ...string) object {
	return object{"op": name, "value": values, "type": "version"}
}

// rule sets the label `l` if it matches.
func rule(more object) object {
	made := object{"name": "r", "labels": object{"l": "1"}}
	for key, value := range more {
		made[key] = value
	}
	return made
}

func matching(terms ...object) object { return rule(object{"matchFeatures": terms}) }

// expressions has each operator with values of each kind, on elements of each kind.
func expressions(add adder) {
	type element struct {
		name  string
		value any
	}
	elements := []element{{"no element", nil}, {"empty", ""}, {"10", "10"}, {"true", "true"}, {"text", "abc"}}
	values := [][]string{nil, {"10"}, {"abc"}, {"1", "10"}, {"10", "1"}, {"1", "5", "10"}, {"^a.*c$", "^1$"}, {"("}}
	for _, operator := range []string{"", "In", "NotIn", "InRegexp", "Exists", "DoesNotExist", "Gt", "Ge", "Lt", "Le", "GtLt", "GeLe", "IsTrue", "IsFalse", "Near"} {
		for _, value := range values {
			for _, element := range elements {
				isRegexp := len(value) > 0 && (value[0] == "(" || value[0] == "^a.*c$")
				isNumber := strings.HasPrefix(operator, "G") || strings.HasPrefix(operator, "L")
				// A value that an operator treats as any other text is not repeated.
				if isRegexp && operator != "InRegexp" || !isNumber && len(value) == 3 {
					continue
				}
				set := object{}
				if element.value != nil {
					set["k"] = element.value
				}
				add(fmt.Sprintf("%q of %q on %s", operator, value, element.name), given{
					Rules:    []object{matching(term("a.b", object{"k": op(operator, value...)}))},
					Features: ofAttributes("a.b", set),
				})
			}
		}
	}
	for _, operator := range []string{"Gt", "Ge", "Lt", "Le", "In"} {
		for _, pair := range [][2]string{
			{"5.15.0-91-generic", "5.15"}, {"v1.2.3", "1.2.3"}, {"1.2", "1.10"}, {"1", "1.0.0"}, {"1.2.3-rc1", "1.2.3"}, {"1.2.3+build", "1.2.3"},
			{"abc", "1"}, {"1", "abc"}, {"1.2.3.4", "1"}, {"01.2", "1.2"}, {"18446744073709551616", "1"}, {"1.2.3-", "1"}, {"1.2.3-01", "1.2"}, {"", "1"},
			{"6.1.0-rc..1", "6"}, {" 1", "1"}, {"1.2.x", "1"},
		} {
			add(fmt.Sprintf("version %q %s %q", pair[0], operator, pair[1]), given{
				Rules:    []object{matching(term("a.b", object{"k": versions(operator, pair[1])}))},
				Features: ofAttributes("a.b", object{"k": pair[0]}),
			})
		}
	}
	for _, operator := range []string{"GtLt", "GeLe"} {
		for _, three := range [][3]string{{"1.2", "1.1", "1.3"}, {"1.2", "1.2", "1.3"}, {"1.2", "1.3", "1.1"}, {"1.2", "1.2", "1.2"}, {"x", "1", "2"}, {"1", "x", "2"}} {
			add(fmt.Sprintf("version %q %s %q", three[0], operator, three[1:]), given{
				Rules:    []object{matching(term("a.b", object{"k": versions(operator, three[1], three[2])}))},
				Features: ofAttributes("a.b", object{"k": three[0]}),
			})
		}
	}
	for _, number := range []string{"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "-0", "+5", "1_0", "0x1", "1.0", " 1", "007", "٣"} {
		add(fmt.Sprintf("the number %q", number), given{
			Rules:    []object{matching(term("a.b", object{"k": op("Ge", "0")})), {"name": "r2", "labels": object{"m": "1"}, "matchFeatures": []object{term("a.b", object{"k": op("Lt", number)})}}},
			Features: ofAttributes("a.b", object{"k": number}),
		})
	}
	add("another type of values", given{
		Rules:    []object{matching(term("a.b", object{"k": object{"op": "Gt", "value": []string{"1"}, "type": "date"}}))},
		Features: ofAttributes("a.b", object{"k": "2"}),
	})
}

// matchers has features of several kinds, names, and matchAny.
func matchers(add adder) {
	kinds := object{
		"flags":      object{"cpu.cpuid": flags("AVX", "AVX2", "SSE"), "mixed.all": flags("both", "flag")},
		"attributes": object{"cpu.model": attributes(object{"vendor_id": "Intel", "family": "6"}), "mixed.all": attributes(object{"both": "1", "attribute": "2"}), "empty.set": attributes(object{})},
		"instances":  object{"pci.device": instances(object{"class": "0300", "vendor": "10de"}, object{"class": "0200", "vendor": "8086", "sriov": "8"}), "mixed.all": instances(object{"both": "1"}, object{"instance": "3"}), "no.device": instances()},
	}
	terms := map[string][]object{
		"a flag":                                        {term("cpu.cpuid", object{"AVX": op("Exists")})},
		"a flag that is absent":                         {term("cpu.cpuid", object{"AMX": op("Exists")})},
		"the absence of a flag":                         {term("cpu.cpuid", object{"AMX": op("DoesNotExist")})},
		"the absence of a flag that is there":           {term("cpu.cpuid", object{"AVX": op("DoesNotExist")})},
		"a flag compared with a value":                  {term("cpu.cpuid", object{"AVX": op("In", "AVX")})},
		"a flag by no operator":                         {term("cpu.cpuid", object{"AVX": op("")})},
		"a flag by a wrong operator":                    {term("cpu.cpuid", object{"AVX": op("Is")})},
		"two flags":                                     {term("cpu.cpuid", object{"AVX": op("Exists"), "SSE": op("Exists")})},
		"two flags, one absent":                         {term("cpu.cpuid", object{"AVX": op("Exists"), "X": op("Exists")})},
		"an attribute":                                  {term("cpu.model", object{"vendor_id": op("In", "AMD", "Intel")})},
		"two attributes":                                {term("cpu.model", object{"vendor_id": op("In", "Intel"), "family": op("Gt", "5")})},
		"two attributes, one other":                     {term("cpu.model", object{"vendor_id": op("In", "Intel"), "family": op("Gt", "6")})},
		"an instance":                                   {term("pci.device", object{"class": op("In", "0300")})},
		"an instance with both":                         {term("pci.device", object{"class": op("In", "0200"), "vendor": op("In", "8086")})},
		"two instances with one each":                   {term("pci.device", object{"class": op("In", "0200"), "vendor": op("In", "10de")})},
		"an instance without an attribute":              {term("pci.device", object{"sriov": op("DoesNotExist")})},
		"an instance with an error":                     {term("pci.device", object{"class": op("In")})},
		"no instance":                                   {term("no.device", object{"class": op("Exists")})},
		"no instance, and no expression":                {term("no.device", object{})},
		"no expression on flags":                        {term("cpu.cpuid", object{})},
		"no expression on attributes":                   {term("cpu.model", object{})},
		"no expression on an empty set":                 {term("empty.set", object{})},
		"no expression on instances":                    {term("pci.device", object{})},
		"neither expressions nor a name":                {object{"feature": "cpu.model"}},
		"neither, on no instance":                       {object{"feature": "no.device"}},
		"an unknown feature":                            {term("gpu.card", object{"a": op("DoesNotExist")})},
		"an unknown feature without a dot":              {term("gpu", object{})},
		"a feature in capitals":                         {term("CPU.Model", object{"family": op("In", "6")})},
		"two terms":                                     {term("cpu.model", object{"family": op("In", "6")}), term("cpu.cpuid", object{"AVX": op("Exists")})},
		"two terms, the first fails":                    {term("cpu.model", object{"family": op("In", "7")}), term("cpu.cpuid", object{"AVX": op("Exists")})},
		"two terms, the second fails":                   {term("cpu.cpuid", object{"AVX": op("Exists")}), term("cpu.model", object{"family": op("In", "7")})},
		"a name":                                        {named("cpu.cpuid", op("InRegexp", "^AVX"))},
		"a name by an exact text":                       {named("cpu.cpuid", op("In", "SSE"))},
		"a name that is absent":                         {named("cpu.cpuid", op("In", "AMX"))},
		"a name of an attribute":                        {named("cpu.model", op("In", "family"))},
		"a name of an instance":                         {named("pci.device", op("In", "sriov"))},
		"a name of an instance that is absent":          {named("pci.device", op("In", "speed"))},
		"a name that exists":                            {named("cpu.model", op("Exists"))},
		"a name that does not exist":                    {named("cpu.model", op("DoesNotExist"))},
		"a name that is not in a list":                  {named("cpu.cpuid", op("NotIn", "AVX"))},
		"a name with an error":                          {named("cpu.cpuid", op("InRegexp", "["))},
		"a name with an error, on an empty set":         {named("empty.set", op("InRegexp", "["))},
		"a name and expressions":                        {object{"feature": "cpu.model", "matchExpressions": object{"family": op("In", "6")}, "matchName": op("In", "vendor_id")}},
		"a name and expressions, the name fails":        {object{"feature": "cpu.model", "matchExpressions": object{"family": op("In", "6")}, "matchName": op("In", "x")}},
		"a name and expressions, the expressions fail":  {object{"feature": "cpu.model", "matchExpressions": object{"family": op("In", "7")}, "matchName": op("In", "vendor_id")}},
		"a mixed feature, its flag":                     {term("mixed.all", object{"flag": op("Exists")})},
		"a mixed feature, its attribute":                {term("mixed.all", object{"attribute": op("In", "2")})},
		"a mixed feature, its instance":                 {term("mixed.all", object{"instance": op("In", "3")})},
		"a mixed feature, in flags and attributes":      {term("mixed.all", object{"both": op("In", "1")})},
		"a mixed feature, absent everywhere":            {term("mixed.all", object{"none": op("DoesNotExist")})},
		"a mixed feature, absent among flags":           {term("mixed.all", object{"attribute": op("DoesNotExist")})},
		"a mixed feature, absent among attributes":      {term("mixed.all", object{"flag": op("DoesNotExist")})},
		"a mixed feature, a flag and an attribute":      {term("mixed.all", object{"flag": op("Exists"), "attribute": op("In", "2")})},
		"a mixed feature, an attribute and an instance": {term("mixed.all", object{"attribute": op("In", "2"), "instance": op("In", "3")})},
		"a mixed feature, a name":                       {named("mixed.all", op("In", "instance"))},
		"a mixed feature, an instance without":          {term("mixed.all", object{"attribute": op("DoesNotExist"), "flag": op("DoesNotExist")})},
	}
	for name, each := range sorted(terms) {
		features := kinds
		add(name, given{Rules: []object{matching(each...)}, Features: features})
		add(name+", as a template", given{Rules: []object{rule(object{"matchFeatures": each, "labelsTemplate": everything(each)})}, Features: features})
		any := []object{{"matchFeatures": []object{term("cpu.cpuid", object{"NONE": op("Exists")})}}, {"matchFeatures": each}}
		add(name+", in matchAny", given{Rules: []object{rule(object{"matchAny": any})}, Features: features})
		add(name+", in matchAny and matchFeatures", given{Rules: []object{rule(object{"matchAny": any, "matchFeatures": []object{term("cpu.model", object{"family": op("In", "6")})}})}, Features: features})
	}
	add("no matcher", given{Rules: []object{rule(nil)}, Features: kinds})
	add("no features", given{Rules: []object{matching(term("cpu.model", object{"family": op("Exists")}))}, Features: object{}})
	add("matchAny, both match, with a template", given{Rules: []object{rule(object{
		"matchAny": []object{
			{"matchFeatures": []object{term("cpu.model", object{"family": op("Exists")})}},
			{"matchFeatures": []object{term("cpu.model", object{"vendor_id": op("Exists")})}},
		},
		"labelsTemplate": "{{ range .cpu.model }}m-{{ .Name }}={{ .Value }}\n{{ end }}",
	})}, Features: kinds})
	add("matchAny, an error after a match", given{Rules: []object{rule(object{"matchAny": []object{
		{"matchFeatures": []object{term("cpu.model", object{"family": op("Exists")})}},
		{"matchFeatures": []object{term("cpu.model", object{"family": op("In")})}},
	}})}, Features: kinds})
	add("matchAny, an error after a match, with a template", given{Rules: []object{rule(object{"varsTemplate": "a=b", "matchAny": []object{
		{"matchFeatures": []object{term("cpu.model", object{"family": op("Exists")})}},
		{"matchFeatures": []object{term("cpu.model", object{"family": op("In")})}},
	}})}, Features: kinds})
}
