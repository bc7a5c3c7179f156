package relay

// StopOthers stops every other source of the scope, of whatever inlet, as Stop does, all of them at once: it returns
// when the last one has returned.
func (s *Source[T]) StopOthers(cause error) {
	scope := s.in.scope
	others := make([]*task, 0, len(scope.running))
	for _, t := range scope.running {
		if t != &s.task {
			others = append(others, t)
		}
	}
	for _, t := range others {
		scope.remove(t)
		t.stop(cause)
	}
	for _, t := range others {
		<-t.done
	}
	for _, t := range others {
		t.outcome.Raise()
	}
}
