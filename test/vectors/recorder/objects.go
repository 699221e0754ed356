// Runs the functions on whole Nodes and their JSON: comparison, patches, reconciliation, the first Node.
package main

import (
	"context"
	"encoding/json"
	"reflect"
	"runtime"
	"unsafe"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	_ "k8s.io/component-helpers/node/util"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/pkg/kubelet"
)

//go:linkname nodeStatusHasChanged k8s.io/kubernetes/pkg/kubelet.nodeStatusHasChanged
func nodeStatusHasChanged(original, current *v1.NodeStatus) bool

//go:linkname updateDefaultResources k8s.io/kubernetes/pkg/kubelet.updateDefaultResources
func updateDefaultResources(initialNode, existingNode *v1.Node) bool

//go:linkname preparePatch k8s.io/component-helpers/node/util.preparePatchBytesforNodeStatus
func preparePatch(name types.NodeName, oldNode, newNode *v1.Node) ([]byte, error)

//go:linkname updateDefaultLabels k8s.io/kubernetes/pkg/kubelet.(*Kubelet).updateDefaultLabels
func updateDefaultLabels(kl *kubelet.Kubelet, initialNode, existingNode *v1.Node) bool

//go:linkname reconcileHugePages k8s.io/kubernetes/pkg/kubelet.(*Kubelet).reconcileHugePageResource
func reconcileHugePages(kl *kubelet.Kubelet, logger klog.Logger, initialNode, existingNode *v1.Node) bool

//go:linkname reconcileAnnotation k8s.io/kubernetes/pkg/kubelet.(*Kubelet).reconcileCMADAnnotationWithExistingNode
func reconcileAnnotation(kl *kubelet.Kubelet, logger klog.Logger, initialNode, existingNode *v1.Node) bool

//go:linkname initialNode k8s.io/kubernetes/pkg/kubelet.(*Kubelet).initialNode
func initialNode(kl *kubelet.Kubelet, ctx context.Context) (*v1.Node, error)

func init() {
	families["nodeStatusHasChanged"] = func(given object) any {
		return object{"changed": nodeStatusHasChanged(
			as[*v1.NodeStatus](given["original"]), as[*v1.NodeStatus](given["current"]))}
	}
	families["applyStatusPatch"] = applyStatusPatch
	families["patchNodeStatus"] = patchNodeStatus
	families["reconcile"] = reconcile
	families["initialNode"] = firstNode
	families["emptyFields"] = emptyFields
}

func applyStatusPatch(given object) any {
	original, patch := must(json.Marshal(given["original"])), must(json.Marshal(given["patch"]))
	result, err := strategicpatch.StrategicMergePatch(original, patch, v1.Node{})
	return object{"result": json.RawMessage(result), "error": errorText(err)}
}

func patchNodeStatus(given object) any {
	oldNode, newNode := nodeOf(given["oldNode"]), nodeOf(given["newNode"])
	patch, err := preparePatch(types.NodeName(given["nodeName"].(string)), oldNode, newNode)
	if err != nil {
		return object{"error": err.Error()}
	}
	want := object{"error": nil, "patch": json.RawMessage(patch)}
	if before["applied"] != nil {
		applied := must(strategicpatch.StrategicMergePatch(must(json.Marshal(oldNode)), patch, v1.Node{}))
		want["applied"] = json.RawMessage(applied)
	}
	return want
}

func reconcile(given object) any {
	initial, existing := nodeOf(given["initialNode"]), nodeOf(given["existingNode"])
	var requiresUpdate bool
	switch given["op"] {
	case "labels":
		requiresUpdate = updateDefaultLabels(nil, initial, existing)
	case "defaultResources":
		requiresUpdate = updateDefaultResources(initial, existing)
	case "hugePages":
		requiresUpdate = reconcileHugePages(nil, klog.Background(), initial, existing)
	case "cmad":
		requiresUpdate = reconcileAnnotation(nil, klog.Background(), initial, existing)
	case "extendedResource":
		kl := &kubelet.Kubelet{}
		set(kl, "containerManager", managerThatResets(truth(given["shouldReset"])))
		requiresUpdate = reconcileExtended(kl, klog.Background(), initial, existing)
	default:
		notRun()
	}
	return object{"requiresUpdate": requiresUpdate, "existingNode": existing}
}

// set sets an unexported field of a Kubelet.
func set(kl *kubelet.Kubelet, name string, value any) {
	field := reflect.ValueOf(kl).Elem().FieldByName(name)
	target := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	if value == nil {
		target.SetZero()
		return
	}
	target.Set(reflect.ValueOf(value).Convert(field.Type()))
}

func firstNode(given object) any {
	if given["goos"] != runtime.GOOS || given["goarch"] != runtime.GOARCH {
		notRun()
	}
	kl := &kubelet.Kubelet{}
	set(kl, "nodeName", types.NodeName(given["nodeName"].(string)))
	set(kl, "hostname", given["hostname"].(string))
	set(kl, "registerWithTaints", as[[]v1.Taint](given["registerWithTaints"]))
	set(kl, "externalCloudProvider", truth(given["externalCloudProvider"]))
	set(kl, "enableControllerAttachDetach", truth(given["enableControllerAttachDetach"]))
	set(kl, "nodeLabels", as[map[string]string](given["nodeLabels"]))
	set(kl, "providerID", text(given["providerID"]))
	set(kl, "nodeDeclaredFeatures", as[[]string](given["declaredFeatures"]))
	node, err := initialNode(kl, context.Background())
	return object{"error": errorText(err), "node": node}
}

// structs has each struct type of a Node, an Event and a Lease, by its name.
var structs = map[string]reflect.Type{}

func init() {
	for _, root := range []any{v1.Node{}, v1.Event{}, coordinationv1.Lease{}} {
		addStructs(reflect.TypeOf(root))
	}
}

func addStructs(of reflect.Type) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || structs[of.Name()] != nil {
		return
	}
	structs[of.Name()] = of
	for at := range of.NumField() {
		addStructs(of.Field(at).Type)
	}
}

// emptyFields decodes each value into one field of a struct, and reports whether the encoded struct has the field.
func emptyFields(given object) any {
	sent, leftOut := []any{}, []any{}
	field := given["field"].(string)
	for _, value := range given["values"].([]any) {
		target := reflect.New(structs[given["type"].(string)])
		check(json.Unmarshal(must(json.Marshal(object{field: value})), target.Interface()))
		var written object
		check(json.Unmarshal(must(json.Marshal(target.Interface())), &written))
		if _, isThere := written[field]; isThere {
			sent = append(sent, value)
		} else {
			leftOut = append(leftOut, value)
		}
	}
	return object{"sent": sent, "leftOut": leftOut}
}
