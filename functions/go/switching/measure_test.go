package switching

import "testing"

func TestTheMedianAndHowWellItIsKnown(t *testing.T) {
	if found := median([]int64{1, 2, 3, 4}); found != 2.5 {
		t.Errorf("median: %v", found)
	}
	steady := make([]int64, 20)
	for i := range steady {
		steady[i] = 1000 + int64(i)
	}
	if !narrow(steady, 0.01) || narrow(steady, 0.001) || narrow(steady[:5], 0.5) {
		t.Error("1000 to 1019 are known to 1 %, and not to 0.1 %")
	}
}
