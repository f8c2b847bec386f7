"""Words that say little: what joins others, and what people ask of a program in any prompt."""

from __future__ import annotations

_FUNCTION = """
a about after again all also am an and any are as at be because been before being both but by can
could did do does doing done each for from get had has have having he her here him his how i if in
into is it its just let like may me might more most must my no nor not of off on once only or
other our out over own same she should so some such than that the their them then there these they
this those through to too under until up upon us very was we were what when where which while who
whom whose why will with without would you your
"""
_EVERYDAY = """
about above actually add added adding after again ahead all also always and another any
anything api app application architecture are ask because been before being below best
better between both branch branches break breaks broken bug bugs build builds but button can
cannot change check class classes clean clear client code come command comment comments
commit commits complete continue could create current data debug default delete dependencies
dependency description dict did different directory docs document documentation does doing
done down each edit effects else error errors every everything example execute exist explain
explanation fail failed failing fails false fast faster feature features few file files find
first fix fixed fixes following for format formatting found from full function functions
general generate get give go going good great handle has have having hello help here how
http idea implement implementation important improve include input install instead int into
issue issues job json just keep kind know last later latest let library like line lines lint
list little log logs look looks main make makes many may maybe mean merge message method
methods missing module more most move much must name need needs never new next nice none not
nothing now null number off okay old once one only open option options other our out output
over own package page part pass passes passing perfect performance please point possible
pretty print problem problems proceed program project pull push put quality question quick
quickly read readme really refactor release remaining remove rename repo repository request
requests result results return review right run running runs same save say screen security
see seem seems server session set should show shows side simple simplify since slow slower
small some something start started state status step steps still stop str style summarise
summarize sure system take task tell test tested testing tests than thank thanks that the
their them then there these they thing things think this those through time today todo too
tool tools true try trying turn two type types typing typo under understand until update
updated url use used user using value values variable variables version very wait walk want
wants warning was way well were what whats when where which while who whole why will with
without work worked working works would write writing written wrong yes yesterday yet you
your
"""
# They join other words.
FUNCTION_WORDS = frozenset(_FUNCTION.split())
# They say what is to be done, or how, and never what it is about.
EVERYDAY = frozenset(_EVERYDAY.split())
