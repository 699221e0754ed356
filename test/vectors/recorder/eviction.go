// Runs the eviction manager: the parser of thresholds, and the manager's passes over statistics in simulated time.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/record"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/utils/clock/testing"
)

//go:linkname synchronize k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).synchronize
func synchronize(
	manager unsafe.Pointer, ctx context.Context, disks eviction.DiskInfoProvider, pods eviction.ActivePodsFunc,
) ([]*v1.Pod, error)

func init() {
	families["evictionThresholds"] = byOperation(map[string]family{"parse": parseThresholds, "sequence": evictionPasses})
}

func thresholdsOf(given object) ([]evictionapi.Threshold, error) {
	byField := func(name string) map[string]string { return as[map[string]string](given[name]) }
	return eviction.ParseThresholdConfig(
		as[[]string](given["enforceNodeAllocatable"]),
		byField("evictionHard"),
		byField("evictionSoft"),
		byField("evictionSoftGracePeriod"),
		byField("evictionMinimumReclaim"),
	)
}

func parseThresholds(given object) any {
	thresholds, err := thresholdsOf(given)
	if err != nil {
		return object{"error": err.Error(), "thresholds": nil}
	}
	slices.SortStableFunc(thresholds, func(a, b evictionapi.Threshold) int {
		return cmp.Or(
			cmp.Compare(min(a.GracePeriod, 1), min(b.GracePeriod, 1)),
			cmp.Compare(a.Signal, b.Signal),
			cmp.Compare(a.GracePeriod, b.GracePeriod),
		)
	})
	all := []any{}
	for _, threshold := range thresholds {
		var reclaim any
		if threshold.MinReclaim != nil {
			reclaim = thresholdValue(*threshold.MinReclaim)
		}
		all = append(all, object{
			"signal":        threshold.Signal,
			"operator":      threshold.Operator,
			"value":         thresholdValue(threshold.Value),
			"gracePeriodMs": float64(threshold.GracePeriod) / 1e6,
			"minReclaim":    reclaim,
		})
	}
	return object{"error": nil, "thresholds": all}
}

func thresholdValue(value evictionapi.ThresholdValue) any {
	if value.Quantity != nil {
		return object{"quantity": value.Quantity.String(), "percentage": nil}
	}
	if math.IsNaN(float64(value.Percentage)) {
		return object{"quantity": nil, "percentage": "NaN"}
	}
	percentage := strconv.FormatFloat(float64(value.Percentage)+0, 'g', -1, 64)
	return object{"quantity": nil, "percentage": json.Number(percentage)}
}

// machineStats plays everything that the eviction manager asks.
type machineStats struct {
	summary          *statsapi.Summary
	dedicatedImages  bool
	splitContainerFs bool
}

func (m *machineStats) Get(context.Context, bool) (*statsapi.Summary, error) {
	if m.summary == nil {
		return nil, errors.New("no statistics")
	}
	return m.summary, nil
}
func (m *machineStats) GetCPUAndMemoryStats(ctx context.Context) (*statsapi.Summary, error) {
	return m.Get(ctx, false)
}
func (m *machineStats) HasDedicatedImageFs(context.Context) (bool, error) {
	return m.dedicatedImages, nil
}
func (m *machineStats) HasDedicatedContainerFs(context.Context) (bool, error) {
	return m.splitContainerFs, nil
}
func (m *machineStats) DeleteUnusedImages(context.Context) error        { return nil }
func (m *machineStats) DeleteAllUnusedContainers(context.Context) error { return nil }

func evictionPasses(given object) any {
	thresholds, err := thresholdsOf(given)
	check(err)
	stats := &machineStats{
		dedicatedImages:  truth(given["dedicatedImageFs"]),
		splitContainerFs: truth(given["splitContainerFs"]),
	}
	now := testing.NewFakeClock(time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC))
	manager, _ := eviction.NewManager(
		stats,
		eviction.Config{
			Thresholds:               thresholds,
			PressureTransitionPeriod: milliseconds(given["pressureTransitionPeriodMs"]),
		},
		func(*v1.Pod, bool, *int64, func(*v1.PodStatus)) error { return nil },
		stats,
		stats,
		&record.FakeRecorder{},
		&v1.ObjectReference{},
		now,
		true,
	)
	steps := []any{}
	for _, each := range given["steps"].([]any) {
		step := each.(object)
		now.Step(milliseconds(step["advanceMs"]))
		stats.summary = summaryOf(step["summary"], now.Now())
		noPods := func() []*v1.Pod { return nil }
		must(synchronize(reflect.ValueOf(manager).UnsafePointer(), context.Background(), stats, noPods))
		steps = append(steps, passOf(manager, stats.summary != nil))
	}
	return object{"steps": steps}
}

func milliseconds(raw any) time.Duration { return time.Duration(raw.(float64)) * time.Millisecond }

// passOf returns what the manager knows after a pass.
func passOf(manager eviction.Manager, hasStats bool) any {
	conditions := []string{}
	for _, each := range *unexported[[]v1.NodeConditionType](manager, "nodeConditions") {
		conditions = append(conditions, string(each))
	}
	slices.Sort(conditions)
	met := [][]any{}
	thresholds := slices.Clone(*unexported[[]evictionapi.Threshold](manager, "thresholdsMet"))
	slices.SortStableFunc(thresholds, func(a, b evictionapi.Threshold) int {
		return cmp.Or(cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.GracePeriod, b.GracePeriod))
	})
	for _, each := range thresholds {
		met = append(met, []any{each.Signal, each.GracePeriod.Milliseconds()})
	}
	observations := object{}
	if hasStats {
		last := reflect.ValueOf(manager).Elem().FieldByName("lastObservations")
		for _, signal := range last.MapKeys() {
			observed := last.MapIndex(signal)
			observations[signal.String()] = object{
				"available": amountOf(observed.FieldByName("available")),
				"capacity":  amountOf(observed.FieldByName("capacity")),
			}
		}
	}
	return object{
		"observations":   observations,
		"nodeConditions": conditions,
		"memoryPressure": manager.IsUnderMemoryPressure(),
		"diskPressure":   manager.IsUnderDiskPressure(),
		"pidPressure":    manager.IsUnderPIDPressure(),
		"thresholdsMet":  met,
	}
}

// unexported returns the address of an unexported field of the object behind an interface or pointer.
func unexported[T any](of any, name string) *T {
	field := reflect.ValueOf(of).Elem().FieldByName(name)
	return (*T)(unsafe.Pointer(field.UnsafeAddr()))
}

func amountOf(pointer reflect.Value) string {
	return (*resource.Quantity)(pointer.UnsafePointer()).String()
}
