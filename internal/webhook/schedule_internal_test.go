package webhook

import (
	"testing"
	"time"
)

func TestPausesGrow(t *testing.T) {
	t.Parallel()
	want := []time.Duration{
		5 * time.Second, 25 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour, 8 * time.Hour,
		12 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour,
	}
	for i, least := range want {
		for range 1000 {
			got, again := pause(i+1, 0, 0)
			if !again || got < least || got > least+least/10 {
				t.Fatalf("after %d failed tries: got %s, %t; want %s and at most a tenth more", i+1, got, again, least)
			}
		}
	}
}

func TestPauseEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		age, told time.Duration
		again     bool
	}{
		{0, 0, true},
		{60 * time.Hour, 0, true},
		{60*time.Hour + time.Second, 0, false},
		{72 * time.Hour, 0, false},
		{59 * time.Hour, 13 * time.Hour, true}, // it is cut to 12 h
		{61 * time.Hour, 13 * time.Hour, false},
	} {
		if got, again := pause(8, test.age, test.told); again != test.again {
			t.Errorf("due %s ago, receiver's wait %s: got %s, %t; want %t", test.age, test.told, got, again, test.again)
		}
	}
	if got, _ := pause(1, 0, time.Hour); got < time.Hour || got > 66*time.Minute {
		t.Errorf("receiver's wait of an hour: got %s", got)
	}
	if got, _ := pause(4, 0, time.Second); got < 10*time.Minute {
		t.Errorf("receiver's wait of a second after four failures: got %s, want at least 10 minutes", got)
	}
}

// TestWalkOfFailingDelivery adds up the tries and the time of a delivery that always fails.
func TestWalkOfFailingDelivery(t *testing.T) {
	t.Parallel()
	age, tries := time.Duration(0), 1
	for {
		d, again := pause(tries, age, 0)
		if !again {
			break
		}
		age += d
		tries++
	}
	if tries < 11 || tries > 13 || age > GiveUpAfter+time.Hour*2 || age < 56*time.Hour {
		t.Errorf("got %d tries in %s, want about 12 in up to three days", tries, age)
	}
}
