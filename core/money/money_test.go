package money_test

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"assay/core/fault"
	"assay/core/money"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]money.Pico{
		"0": 0, "1": money.Dollar, "0.0188": 18_800_000_000, "1e-06": 1_000_000, "1E-6": 1_000_000, "-2.5": -5 * money.Dollar / 2, "+.5": money.Dollar / 2, "3.": 3 * money.Dollar,
		"0.0000000000005": 1, "0.0000000000004999": 0, "-0.0000000000005": -1, "0.1000000000005": 100_000_000_001, "1e-400": 0, "-0": 0,
		"9223372.036854775807": money.Max, "0.1": 100_000_000_000, "00012": 12 * money.Dollar,
	} {
		if got, err := money.Parse(s); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for s, want := range map[string]fault.Code{
		"": money.BadAmount, "a": money.BadAmount, "1 ": money.BadAmount, "$1": money.BadAmount, "1,5": money.BadAmount, "0x10": money.BadAmount, "1_0": money.BadAmount,
		"NaN": money.BadAmount, "inf": money.BadAmount, "1e": money.BadAmount, "--1": money.BadAmount, "1/2": money.BadAmount, "1e999": money.BadAmount, "١": money.BadAmount,
		"9223372.036854775808": money.OutOfRange, "-9223373": money.OutOfRange, "1e300": money.OutOfRange,
	} {
		if got, err := money.Parse(s); fault.Of(err) != want || got != 0 {
			t.Errorf("Parse(%q) = %d, %v, want %s", s, got, err, want.Name())
		}
	}
}

func TestFromFloat(t *testing.T) {
	for f, want := range map[float64]money.Pico{0: 0, 0.1: 100_000_000_000, 0.7: 700_000_000_000, 1e-12: 1, 5e-13: 1, 4.9e-13: 0, -0.3: -300_000_000_000, 4096: 4096 * money.Dollar} {
		if got, err := money.FromFloat(f); err != nil || got != want {
			t.Errorf("FromFloat(%v) = %d, %v, want %d", f, got, err, want)
		}
	}
	for f, want := range map[float64]fault.Code{math.NaN(): money.BadAmount, math.Inf(1): money.BadAmount, math.Inf(-1): money.BadAmount, 1e7: money.OutOfRange, -1e300: money.OutOfRange} {
		if _, err := money.FromFloat(f); fault.Of(err) != want {
			t.Errorf("FromFloat(%v) = %v, want %s", f, err, want.Name())
		}
	}
}

// The short cut of FromFloat gives what the decimal way gives.
func TestFromFloatIsItsDecimalText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64Range(-5000, 5000), rapid.Float64Range(-1e-6, 1e-6), rapid.Map(rapid.Int64Range(-1e10, 1e10), func(n int64) float64 {
			return float64(n)/1e12 + 5e-13 // halves
		})).Draw(t, "f")
		want, err := money.Parse(strconv.FormatFloat(f, 'g', -1, 64))
		if got, err2 := money.FromFloat(f); got != want || fault.Of(err) != fault.Of(err2) {
			t.Errorf("FromFloat(%v) = %d, %v, want %d, %v", f, got, err2, want, err)
		}
	})
}

func TestExactTextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := money.Pico(rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "p"))
		if got, err := money.Parse(string(p.AppendDollars(nil))); err != nil || got != p {
			t.Errorf("%d is written %s and read as %d, %v", p, p.AppendDollars(nil), got, err)
		}
	})
}

func TestSumsNeverWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := money.Pico(rapid.Int64().Draw(t, "p")), money.Pico(rapid.Int64().Draw(t, "q"))
		exact := new(big.Int).Add(big.NewInt(int64(p)), big.NewInt(int64(q)))
		got, err := p.Add(q)
		if err == nil != exact.IsInt64() || err == nil && int64(got) != exact.Int64() {
			t.Errorf("%d + %d = %d, %v", p, q, got, err)
		}
		switch plus := p.Plus(q); {
		case err == nil && plus != got, err != nil && q > 0 && plus != money.Max, err != nil && q < 0 && plus != -money.Max:
			t.Errorf("%d plus %d = %d", p, q, plus)
		}
	})
}

func TestTokensRoundOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, price := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "price")
		exact := new(big.Int).Mul(big.NewInt(n), big.NewInt(price))
		exact.Add(exact, big.NewInt(500_000)).Quo(exact, big.NewInt(1_000_000))
		want := money.Max
		if exact.IsInt64() {
			want = money.Pico(exact.Int64())
		}
		if got := money.Tokens(n, money.Pico(price)); got != want {
			t.Errorf("Tokens(%d, %d) = %d, want %d", n, price, got, want)
		}
	})
}

func TestTexts(t *testing.T) {
	for p, want := range map[money.Pico][2]string{
		0: {"$0.000000", "0.0"}, 1: {"$0.000000", "0.000000000001"}, 31_000_000_000: {"$0.031000", "0.031"}, -money.Dollar: {"$-1.000000", "-1.0"}, money.Dollar + 10: {"$1.000000", "1.00000000001"},
	} {
		if got := p.String(); got != want[0] {
			t.Errorf("%d prints %s, want %s", int64(p), got, want[0])
		}
		if got := string(p.AppendDollars(nil)); got != want[1] {
			t.Errorf("%d is written %s, want %s", int64(p), got, want[1])
		}
	}
	if got := money.Pico(18_800_000_000).Dollars(); got != 0.0188 {
		t.Errorf("Dollars = %v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0.0188", "1e-06", "-9223372.036854775807", "1e7", "1e-999999999", "0.0000000000005", "1e", "+", "123456789012345678901234567890e-24"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := money.Parse(s)
		if err != nil {
			if c := fault.Of(err); c != money.BadAmount && c != money.OutOfRange || p != 0 {
				t.Errorf("Parse(%q) = %d, %v", s, p, err)
			}
			return
		}
		if again, err := money.Parse(string(p.AppendDollars(nil))); err != nil || again != p {
			t.Errorf("Parse(%q) = %d, which is read again as %d, %v", s, p, again, err)
		}
		if x, err := strconv.ParseFloat(s, 64); err != nil || math.Abs(x-p.Dollars()) > 1e-12+1e-15*math.Abs(x) {
			t.Errorf("Parse(%q) = %d, far from %v, %v", s, p, x, err)
		}
	})
}

func BenchmarkFromFloat(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := money.FromFloat(0.0188); err != nil {
			b.Fatal(err)
		}
	}
}
