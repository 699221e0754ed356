// Runs the parsers and validators of values: quantities, taints, labels, names and label selectors.
package main

import (
	"encoding/json"
	"regexp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	cliflag "k8s.io/component-base/cli/flag"
	nodeutil "k8s.io/component-helpers/node/util"
	kubeletapis "k8s.io/kubelet/pkg/apis"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	utilflag "k8s.io/kubernetes/pkg/util/flag"
	"k8s.io/kubernetes/pkg/util/taints"
)

func init() {
	families["quantity"] = byOperation(quantityOperations)
	families["taints"] = byOperation(taintOperations)
	families["labels"] = byOperation(labelOperations)
	families["nodeName"] = byOperation(nameOperations)
	families["labelSelectors"] = labelSelector
	families["regexp"] = regularExpression
}

// byOperation returns a family whose cases name one of several functions in `op`.
func byOperation(operations map[string]family) family {
	return func(given object) any {
		run := operations[given["op"].(string)]
		if run == nil {
			notRun()
		}
		return run(given)
	}
}

func described(quantity resource.Quantity) any {
	whole, isInt64 := quantity.AsInt64()
	var asInt64 any
	if isInt64 {
		asInt64 = decimal(whole)
	}
	return object{
		"error":      nil,
		"string":     quantity.String(),
		"format":     string(quantity.Format),
		"value":      decimal(quantity.Value()),
		"milliValue": decimal(quantity.MilliValue()),
		"sign":       quantity.Sign(),
		"isZero":     quantity.IsZero(),
		"asInt64":    asInt64,
		"json":       string(must(json.Marshal(quantity))),
	}
}

func sumOf(quantity resource.Quantity) any {
	return object{"string": quantity.String(), "format": string(quantity.Format), "value": decimal(quantity.Value())}
}

func quantity(raw any) resource.Quantity { return must(resource.ParseQuantity(raw.(string))) }

func formatOf(given object) resource.Format { return resource.Format(text(given["format"])) }

func scaleOf(given object) resource.Scale { return resource.Scale(given["scale"].(float64)) }

var quantityOperations = map[string]family{
	"parse": func(given object) any {
		parsed, err := resource.ParseQuantity(given["string"].(string))
		if err != nil {
			return object{"error": err.Error()}
		}
		return described(parsed)
	},
	"add": func(given object) any {
		a := quantity(given["a"])
		a.Add(quantity(given["b"]))
		return sumOf(a)
	},
	"sub": func(given object) any {
		a := quantity(given["a"])
		a.Sub(quantity(given["b"]))
		return sumOf(a)
	},
	"deepCopyAfterAdd": func(given object) any {
		a := quantity(given["a"])
		a.Add(quantity(given["b"]))
		duplicate := a.DeepCopy()
		return object{"string": duplicate.String()}
	},
	"cmp": func(given object) any {
		a, b := quantity(given["a"]), quantity(given["b"])
		return object{"cmp": a.Cmp(b), "equal": a.Equal(b)}
	},
	"neg": func(given object) any {
		a := quantity(given["a"])
		a.Neg()
		return object{"string": a.String(), "format": string(a.Format)}
	},
	"set": func(given object) any {
		a := quantity(given["a"])
		a.Set(signed(given["value"]))
		return described(a)
	},
	"setMilli": func(given object) any {
		a := quantity(given["a"])
		a.SetMilli(signed(given["value"]))
		return described(a)
	},
	"newQuantity": func(given object) any {
		return described(*resource.NewQuantity(signed(given["value"]), formatOf(given)))
	},
	"newMilliQuantity": func(given object) any {
		return described(*resource.NewMilliQuantity(signed(given["value"]), formatOf(given)))
	},
	"newScaledQuantity": func(given object) any {
		return described(*resource.NewScaledQuantity(signed(given["value"]), scaleOf(given)))
	},
	"scaledValue": func(given object) any {
		a := quantity(given["a"])
		return object{"value": decimal(a.ScaledValue(scaleOf(given)))}
	},
	"roundUp": func(given object) any {
		a := quantity(given["a"])
		exact := a.RoundUp(scaleOf(given))
		return object{"exact": exact, "string": a.String()}
	},
	"json": func(given object) any {
		var parsed resource.Quantity
		if err := json.Unmarshal([]byte(given["json"].(string)), &parsed); err != nil {
			return object{"error": err.Error()}
		}
		return object{"error": nil, "format": string(parsed.Format), "json": string(must(json.Marshal(parsed)))}
	},
}

var taintOperations = map[string]family{
	"parseTaints": func(given object) any {
		added, removed, err := taints.ParseTaints(as[[]string](given["spec"]))
		return object{"error": errorText(err), "taints": taintsOrNone(added), "taintsToRemove": taintsOrNone(removed)}
	},
	"registerWithTaintsFlag": func(given object) any {
		var value []v1.Taint
		flag := utilflag.RegisterWithTaintsVar{Value: &value}
		err := flag.Set(given["value"].(string))
		return object{"error": errorText(err), "taints": value, "string": flag.String()}
	},
}

func taintsOrNone(list []v1.Taint) []v1.Taint {
	if list == nil {
		return []v1.Taint{}
	}
	return list
}

var labelOperations = map[string]family{
	"validateNodeLabels": func(given object) any {
		flags := options.NewKubeletFlags()
		flags.NodeLabels = as[map[string]string](given["nodeLabels"])
		return object{"error": errorText(options.ValidateKubeletFlags(flags))}
	},
	"isKubeletLabel": func(given object) any {
		return object{"isKubeletLabel": kubeletapis.IsKubeletLabel(given["key"].(string))}
	},
	"qualifiedName": func(given object) any {
		return object{"errors": listed(validation.IsQualifiedName(given["value"].(string)))}
	},
	"labelValue": func(given object) any {
		return object{"errors": listed(validation.IsValidLabelValue(given["value"].(string)))}
	},
	"nodeLabelsFlag": func(given object) any {
		value := map[string]string{}
		flag := cliflag.ConfigurationMap(value)
		for _, each := range as[[]string](given["values"]) {
			check(flag.Set(each))
		}
		return object{"labels": value}
	},
	"resourceName": func(given object) any {
		name := v1.ResourceName(given["name"].(string))
		return object{
			"isExtendedResource": v1helper.IsExtendedResourceName(name),
			"isHugePage":         v1helper.IsHugePageResourceName(name),
			"isNative":           v1helper.IsNativeResource(name),
			"isPrefixedNative":   v1helper.IsPrefixedNativeResource(name),
			"isAttachableVolume": v1helper.IsAttachableVolumeResourceName(name),
		}
	},
	"hugePageResourceName": func(given object) any {
		size := resource.NewQuantity(int64(given["pageSizeBytes"].(float64)), resource.BinarySI)
		return object{"name": string(v1helper.HugePageResourceName(*size))}
	},
}

var nameOperations = map[string]family{
	"hostname": func(given object) any {
		name, err := nodeutil.GetHostname(given["hostnameOverride"].(string))
		if err != nil {
			return object{"error": err.Error(), "hostname": nil}
		}
		return object{"error": nil, "hostname": name}
	},
	"validateNodeName": func(given object) any {
		return object{"errors": listed(corevalidation.ValidateNodeName(given["name"].(string), false))}
	},
}

func labelSelector(given object) any {
	selector, err := labels.Parse(given["selector"].(string))
	if err != nil {
		return object{"error": true}
	}
	matches := []bool{}
	for _, each := range as[[]map[string]string](given["labels"]) {
		matches = append(matches, selector.Matches(labels.Set(each)))
	}
	return object{"error": false, "matches": matches}
}

func regularExpression(given object) any {
	expression, err := regexp.Compile(given["pattern"].(string))
	if err != nil {
		return object{"error": err.Error()}
	}
	matches := []any{}
	for _, raw := range given["texts"].([]any) {
		text := raw.(string)
		at := expression.FindStringSubmatchIndex(text)
		if at == nil {
			matches = append(matches, nil)
			continue
		}
		groups := []any{}
		for from := 0; from < len(at); from += 2 {
			var group any
			if at[from] >= 0 {
				group = text[at[from]:at[from+1]]
			}
			groups = append(groups, group)
		}
		matches = append(matches, object{"before": text[:at[0]], "groups": groups})
	}
	return object{"error": nil, "matches": matches}
}
