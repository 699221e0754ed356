// Runs the registration of a Node, and the events of its spec.unschedulable.
package main

import (
	"context"
	"fmt"
	_ "unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
)

//go:linkname tryRegister k8s.io/kubernetes/pkg/kubelet.(*Kubelet).tryRegisterWithAPIServer
func tryRegister(kl *kubelet.Kubelet, ctx context.Context, node *v1.Node) bool

//go:linkname reconcileExtended k8s.io/kubernetes/pkg/kubelet.(*Kubelet).reconcileExtendedResource
func reconcileExtended(kl *kubelet.Kubelet, logger klog.Logger, initialNode, node *v1.Node) bool

//go:linkname recordSchedulable k8s.io/kubernetes/pkg/kubelet.(*Kubelet).recordNodeSchedulableEvent
func recordSchedulable(kl *kubelet.Kubelet, ctx context.Context, node *v1.Node) error

func init() {
	families["tryRegister"] = func(given object) any {
		api := newServer()
		if given["existingNode"] != nil {
			api.put("nodes", "Node", "v1", given["existingNode"])
		}
		api.outcomes = given["outcomes"].([]any)
		tracker := newTracker()
		kl := &kubelet.Kubelet{}
		set(kl, "nodeName", types.NodeName(nodeOf(given["node"]).Name))
		set(kl, "kubeClient", api.client())
		set(kl, "containerManager", managerThatResets(truth(given["shouldReset"])))
		set(kl, "nodeStartupLatencyTracker", tracker)
		registered := tryRegister(kl, context.Background(), nodeOf(given["node"]))
		return object{"registered": registered, "tracker": tracker.calls, "calls": api.takeCalls()}
	}
	families["recordNodeSchedulableEvent"] = schedulableEvents
}

// resettingManager is a container manager that answers one question.
type resettingManager struct {
	cm.ContainerManager
	resets bool
}

func (m resettingManager) ShouldResetExtendedResourceCapacity() bool { return m.resets }

func managerThatResets(resets bool) cm.ContainerManager {
	return resettingManager{cm.NewStubContainerManager(), resets}
}

// tracker notes the calls to the startup latency tracker.
type tracker struct{ calls []string }

func newTracker() *tracker { return &tracker{calls: []string{}} }

func (t *tracker) RecordAttemptRegisterNode() { t.calls = append(t.calls, "attemptRegister") }
func (t *tracker) RecordRegisteredNewNode()   { t.calls = append(t.calls, "registeredNew") }
func (t *tracker) RecordNodeReady()           { t.calls = append(t.calls, "nodeReady") }

var _ kubeletutil.NodeStartupLatencyTracker = (*tracker)(nil)

func schedulableEvents(given object) any {
	kl := &kubelet.Kubelet{}
	name := given["nodeName"].(string)
	heard := newRecorder()
	set(kl, "nodeName", types.NodeName(name))
	set(kl, "nodeRef", &v1.ObjectReference{Kind: "Node", Name: name})
	set(kl, "recorder", heardBy{record.NewFakeRecorder(0), heard})
	set(kl, "lastNodeUnschedulable", truth(given["lastNodeUnschedulable"]))
	steps := []any{}
	for _, unschedulable := range given["unschedulable"].([]any) {
		heard.events = []any{}
		check(recordSchedulable(kl, context.Background(), &v1.Node{Spec: v1.NodeSpec{Unschedulable: truth(unschedulable)}}))
		steps = append(steps, object{
			"events":                heard.events,
			"lastNodeUnschedulable": *unexported[bool](kl, "lastNodeUnschedulable"),
		})
	}
	return object{"steps": steps}
}

// heardBy notes events in place of sending them.
type heardBy struct {
	*record.FakeRecorder
	to *recorder
}

func (h heardBy) Eventf(_ runtime.Object, kind, reason, format string, arguments ...any) {
	h.to.add(event{kind, reason, fmt.Sprintf(format, arguments...)})
}
