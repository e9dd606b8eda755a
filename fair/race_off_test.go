//go:build !race

package fair_test

const raceDetector = false
