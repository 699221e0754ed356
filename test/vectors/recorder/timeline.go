// Plays a kubelet's life in simulated time: registration, heartbeats and fast updates of the Node's status.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	clocktesting "k8s.io/utils/clock/testing"
)

//go:linkname syncNodeStatus k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncNodeStatus
func syncNodeStatus(kl *kubelet.Kubelet, ctx context.Context)

//go:linkname fastNodeStatusUpdate k8s.io/kubernetes/pkg/kubelet.(*Kubelet).fastNodeStatusUpdate
func fastNodeStatusUpdate(kl *kubelet.Kubelet, ctx context.Context, timeout bool) bool

//go:linkname newRuntimeState k8s.io/kubernetes/pkg/kubelet.newRuntimeState
func newRuntimeState(threshold time.Duration) unsafe.Pointer

//go:linkname setPodCIDR k8s.io/kubernetes/pkg/kubelet.(*runtimeState).setPodCIDR
func setPodCIDR(state unsafe.Pointer, cidr string)

// globalRandom is the source of the functions of math/rand.
//
//go:linkname globalRandom math/rand.globalRandGenerator
var globalRandom atomic.Pointer[rand.Rand]

func init() { families["nodeStatusTimeline"] = inBubble(timeline) }

// life is a kubelet that plays a case, with all that it has done in the present step.
type life struct {
	kl      *kubelet.Kubelet
	api     *server
	now     *clocktesting.FakeClock
	facts   object
	after   object // The facts that change when the runtime is asked for its status.
	tracker *tracker
	events  *recorder
	marked  []any
	cidrs   []any
	// The numbers of repeated failures, and of questions to the runtime.
	failures, asked int
}

func timeline(given object) any {
	rebootEvent = sync.Once{}
	globalRandom.Store(rand.New(&givenNumbers{as[[]float64](given["rand"]), 0}))
	played := newLife(given)
	steps := []any{}
	for _, step := range given["steps"].([]any) {
		steps = append(steps, played.step(step.(object)))
	}
	return object{"steps": steps}
}

// givenNumbers gives a case's random numbers, one after another and again.
type givenNumbers struct {
	numbers []float64
	next    int
}

func (g *givenNumbers) Seed(int64) {}

func (g *givenNumbers) Int63() int64 {
	g.next++
	return int64(g.numbers[(g.next-1)%len(g.numbers)] * (1 << 63))
}

func newLife(given object) *life {
	name := given["nodeName"].(string)
	l := &life{api: newServer(), now: clocktesting.NewFakeClock(instant(given["start"])), tracker: newTracker()}
	l.api.brief = true
	l.facts = object{
		"nodeName": name, "hostname": given["hostname"], "node": object{"metadata": object{"name": name}},
		"podsPerCore": 0.0, "localStorageCapacityIsolation": true, "handlers": []any{},
	}
	l.change(given["facts"].(object))
	if given["existingNode"] != nil {
		l.api.put("nodes", "Node", "v1", given["existingNode"])
	}
	l.kl = registeringKubelet(given, l.api, l.tracker)
	client := l.api.client()
	state := newRuntimeState(0)
	setPodCIDR(state, given["podCIDR"].(string))
	*unexported[unsafe.Pointer](l.kl, "runtimeState") = state
	set(l.kl, "heartbeatClient", client)
	set(l.kl, "registerNode", truth(given["registerNode"]))
	set(l.kl, "clock", l.now)
	set(l.kl, "containerRuntime", livingRuntime{life: l})
	set(l.kl, "volumeManager", livingVolumes{life: l})
	set(l.kl, "nodeRef", &v1.ObjectReference{Kind: "Node", Name: name})
	set(l.kl, "nodeStatusReportFrequency", milliseconds(given["nodeStatusReportFrequencyMs"]))
	set(l.kl, "onRepeatedHeartbeatFailure", func() { l.failures++ })
	l.list(nil)
	return l
}

func (l *life) change(facts object) {
	for name, value := range facts {
		l.facts[name] = value
	}
	l.facts["versionInfo"] = object{
		"kernelVersion": l.facts["kernelVersion"], "containerOsVersion": l.facts["osImage"],
	}
	if l.kl != nil {
		set(l.kl, "setNodeStatusFuncs", l.setters())
	}
}

// list gives the kubelet's lister this Node, or none.
func (l *life) list(node any) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if node != nil {
		check(indexer.Add(nodeOf(node)))
	}
	set(l.kl, "nodeLister", corelisters.NewNodeLister(indexer))
}

func (l *life) step(step object) any {
	l.now.Step(milliseconds(step["advanceMs"]))
	l.events = newRecorder()
	l.tracker.calls, l.marked, l.cidrs, l.failures, l.asked = []string{}, []any{}, []any{}, 0, 0
	set(l.kl, "recorder", heardBy{record.NewFakeRecorder(0), l.events})
	l.change(step["facts"].(object))
	l.after, _ = step["factsAfterRuntimeUpdate"].(object)
	key := "nodes/" + l.facts["nodeName"].(string)
	if stored := l.api.objects[key]; stored != nil && step["serverPatch"] != nil {
		l.api.objects[key] = l.api.bump(merged("nodes", stored, encoded(step["serverPatch"])))
	}
	if truth(step["listerSync"]) {
		if stored := l.api.objects[key]; stored != nil {
			l.list(stored)
		} else {
			l.list(nil)
		}
	}
	l.api.outcomes = step["outcomes"].([]any)
	l.api.takeSleeps()
	want := object{}
	if step["action"] == "sync" {
		syncNodeStatus(l.kl, context.Background())
	} else {
		want["completed"] = fastNodeStatusUpdate(l.kl, context.Background(), step["action"] == "fastTimeout")
		want["containerRuntimeReadyExpected"] = *unexported[bool](l.kl, "containerRuntimeReadyExpected")
	}
	for name, value := range l.heard() {
		want[name] = value
	}
	return want
}

func (l *life) heard() object {
	var reported any
	if at := *unexported[time.Time](l.kl, "lastStatusReportTime"); !at.IsZero() {
		reported = at.Format(time.RFC3339Nano)
	}
	return object{
		"calls": l.api.takeCalls(), "sleepsMs": l.api.takeSleeps(), "tracker": l.tracker.calls,
		"lastStatusReportTime":         reported,
		"delayAfterNodeStatusChangeNs": int64(*unexported[time.Duration](l.kl, "delayAfterNodeStatusChange")),
		"events":                       l.events.events, "markedVolumes": l.marked, "podCIDRUpdates": l.cidrs,
		"repeatedHeartbeatFailures": l.failures, "runtimeStatusCalls": l.asked,
	}
}

// livingRuntime is the container runtime of a life.
type livingRuntime struct {
	kubecontainer.Runtime
	life *life
}

func (r livingRuntime) Status(context.Context) (*kubecontainer.RuntimeStatus, error) {
	r.life.asked++
	r.life.change(r.life.after)
	return nil, errors.New("the facts have the runtime's status")
}

func (r livingRuntime) UpdatePodCIDR(_ context.Context, cidr string) error {
	r.life.cidrs = append(r.life.cidrs, cidr)
	return failure(r.life.facts["updatePodCIDRError"])
}

// livingVolumes is the volume manager of a life.
type livingVolumes struct {
	volumemanager.VolumeManager
	life *life
}

func (v livingVolumes) MarkVolumesAsReportedInUse(volumes []v1.UniqueVolumeName) {
	list := []any{}
	for _, each := range volumes {
		list = append(list, each)
	}
	v.life.marked = append(v.life.marked, list)
}

// setters returns the setters in the order of defaultNodeStatusFuncs, on the present facts.
func (l *life) setters() []func(context.Context, *v1.Node) error {
	told := func(_ klog.Logger, kind, reason string) {
		l.events.add(event{kind, reason, fmt.Sprintf("Node %s status is now: %s", l.facts["nodeName"], reason)})
	}
	is := func(fact string) func() bool { return func() bool { return truth(l.facts[fact]) } }
	fails := func(fact string) func() error { return func() error { return failure(l.facts[fact]) } }
	noResources := func() (v1.ResourceList, v1.ResourceList, []string) { return nil, nil, nil }
	capacity := func(bool) v1.ResourceList {
		return resources(object{"ephemeral-storage": l.facts["ephemeralStorage"]})
	}
	endpoints := &v1.NodeDaemonEndpoints{
		KubeletEndpoint: v1.DaemonEndpoint{Port: int32(l.facts["kubeletPort"].(float64))},
	}
	return []func(context.Context, *v1.Node) error{
		nodeAddress(l.facts, object{}),
		setterOfMachineInfo(l.facts, machineCalls{capacity, noResources, resourcesOfNone, func(kind, reason, message string) {
			l.events.add(event{kind, reason, message})
		}}),
		versionInfo(l.facts, nil),
		nodestatus.DaemonEndpoints(endpoints),
		images(l.facts, nil),
		nodestatus.GoRuntime(),
		runtimeHandlers(l.facts, nil),
		nodestatus.NodeFeatures(func() *kubecontainer.RuntimeFeatures { return nil }),
		nodestatus.MemoryPressureCondition(l.now.Now, is("memoryPressure"), told),
		nodestatus.DiskPressureCondition(l.now.Now, is("diskPressure"), told),
		nodestatus.PIDPressureCondition(l.now.Now, is("pidPressure"), told),
		nodestatus.ReadyCondition(l.now.Now, fails("runtimeErrors"), fails("networkErrors"), fails("storageErrors"),
			func() cm.Status { return cm.Status{} }, fails("nodeShutdownManagerErrors"), told, true),
		nodestatus.VolumesInUse(is("volumesSynced"), func() []v1.UniqueVolumeName {
			return as[[]v1.UniqueVolumeName](l.facts["volumesInUse"])
		}),
		func(ctx context.Context, node *v1.Node) error { return recordSchedulable(l.kl, ctx, node) },
	}
}

func resourcesOfNone() v1.ResourceList { return nil }
